// The visitor's page: ties the connection, the tabs and the drawing together.
import { Announcer } from "./announce.js";
import { ROOT, call } from "./call.js";
import { Connection } from "./connection.js";
import { estimateOf, modeOf, remember, shownPosition } from "./line.js";
import { at, draw, enterUrl, IN_LINE, passLeftMs, troubleText } from "./show.js";
import { Tabs } from "./tabs.js";
import { count, estimateText, say } from "./texts.js";
import { AUTO_ENTER_S, AutoEnter, keep, recall, Sound } from "./turn.js";

const { room, identity, title } = document.body.dataset;
const MEMORY_KEY = `jari:${room}:place`;
const WANTED_KEY = `jari:${room}:wanted`;
const LEFT_KEY = `jari:${room}:left`;
// Someone who looks at the page wants to know now; someone who switches tabs back and forth was just told.
const FRESH_MS = 2000;
const LEAVE_TRIES = 3;

let state = {};
let mode = "connecting";
let notice;
let trouble = "";
let going = false;
let offlineAt = 0;
let memory = recall("sessionStorage", MEMORY_KEY);
const wanted = takeWanted();

const announcer = new Announcer(at("polite"), at("assertive"));
const sound = new Sound(at("sound"));
const auto = new AutoEnter({ show: showAuto, go: () => location.assign(at("enter").href) });
const connection = new Connection(room, { account: identity, entry: takeEntry(), tell });
const tabs = new Tabs(room, { lead, hear: receive, obey });

// An entry token comes in the address, once: it is taken out so that it is neither bookmarked nor sent on.
function takeEntry() {
  const url = new URL(location.href);
  const entry = url.searchParams.get("entry");
  if (entry === null) return undefined;
  url.searchParams.delete("entry");
  history.replaceState(null, "", url);
  return entry;
}

// The page that this tab was called for, also after the language was switched.
function takeWanted() {
  const told = new URL(location.href).searchParams.get("return");
  if (told) keep("sessionStorage", WANTED_KEY, told);
  return told || recall("sessionStorage", WANTED_KEY) || undefined;
}

function lead(signal) {
  connection.resume(state);
  if (recall("sessionStorage", LEFT_KEY)) connection.left();
  return connection.run(signal);
}

function obey(order) {
  if (order === "join") connection.join();
  if (order === "left") connection.left();
  // Back on the network, perhaps another: no connection of before is good any more.
  if (order === "online") connection.interrupt();
  if (order !== "tell") return;
  if (state.at) tabs.send({ state });
  // The line's news say nothing of a pass.
  const heardAt = state.view?.status === "admitted" ? state.viewAt : state.at;
  if (state.problem || Date.now() - (heardAt ?? 0) > FRESH_MS) connection.poke();
}

// To whoever leads: this tab or another.
function order(what) {
  if (tabs.leading) obey(what);
  else tabs.send({ order: what });
}

function tell(next) {
  receive(next);
  tabs.send({ state: next });
}

function receive(next) {
  state = next;
  const shown = render();
  announce(shown);
  mode = modeOf(state);
  if (mode === "off") goOn();
}

// Nobody is held up now. Once: a page that is taken elsewhere again and again gets nowhere.
function goOn() {
  const url = enterUrl(state, wanted);
  if (!url || going) return;
  going = true;
  location.replace(url);
}

function render() {
  const { view, line } = state;
  const now = modeOf(state);
  const shown = view && line && IN_LINE.includes(now) ? shownPosition(view, line, memory) : undefined;
  if (shown !== undefined) {
    memory = remember(view, shown, memory);
    keep("sessionStorage", MEMORY_KEY, memory);
  }
  const focused = document.activeElement;
  draw({ state, mode: now, shown, memory, now: Date.now(), title, offlineAt, wanted });
  // A control that goes must not take the reader's place on the page with it.
  if (focused?.closest("[hidden]")) at("headline").focus();
  return shown;
}

function announce(shown) {
  const next = modeOf(state);
  const said = [];
  if (next !== mode) {
    leaveTurn();
    if (next === "admitted") return takeTurn();
    said.push(say(`headline.${next}`), at("detail").textContent);
  }
  const told = state.line?.notice?.text;
  if (told && told !== notice) said.push(`${say("notice")}: ${told}`);
  notice = told;
  const now = troubleText(state, offlineAt);
  if (now && now !== trouble) said.push(now);
  trouble = now;
  const position = shown === undefined ? "" : positionText(shown);
  if (said.length) announcer.state([...said, next === mode ? "" : position].map(sentence).join(" ").trim());
  else if (position) announcer.position(position);
}

// Headlines have no full stop; without one a reader runs on into the next sentence.
function sentence(text) {
  return !text || /[.!?:]$/.test(text) ? text : `${text}.`;
}

function positionText(shown) {
  const { estimate, no_estimate } = estimateOf(state.view, state.line);
  return say("position_said", { n: count(shown), estimate: estimateText(estimate, no_estimate) });
}

// The turn has come: said, heard, and the link under the finger.
function takeTurn() {
  if (at("confirm").open) at("confirm").close();
  const goes = enterUrl(state, wanted) !== undefined;
  announcer.turn(goes ? say("turn_said", { s: AUTO_ENTER_S }) : say("turn_said_still"));
  if (!goes) return;
  sound.play();
  at("enter").focus();
  auto.start();
}

function leaveTurn() {
  auto.stop();
  at("auto").hidden = true;
}

function showAuto(seconds) {
  at("auto").hidden = false;
  at("stay").hidden = false;
  at("auto-text").textContent = say("auto", { s: seconds });
}

function stayHere() {
  auto.stop();
  at("enter").focus();
  at("stay").hidden = true;
  at("auto-text").textContent = say("auto_cancelled");
  announcer.state(say("auto_cancelled"));
}

async function leave() {
  if (at("confirm").returnValue !== "leave") return;
  for (let tries = 0; tries < LEAVE_TRIES; tries += 1) {
    const { status } = await call("DELETE", `${ROOT}/v1/rooms/${room}/places/me`);
    // 401: no receipt of a place any more, so it was left before.
    if (status !== 204 && status !== 401) continue;
    keep("sessionStorage", LEFT_KEY, true);
    order("left");
    return;
  }
  announcer.state(say("trouble.retry"));
}

function rejoin() {
  keep("sessionStorage", LEFT_KEY, false);
  at("headline").focus();
  order("join");
}

function second() {
  render();
  if ((mode === "admitted" || mode === "inside") && state.view.pass && passLeftMs(state, Date.now()) < 0) order("tell");
}

at("stay").addEventListener("click", stayHere);
at("rejoin").addEventListener("click", rejoin);
at("confirm").addEventListener("close", leave);
at("leave").addEventListener("click", () => {
  at("confirm").returnValue = "stay";
  at("confirm").showModal();
});
window.addEventListener("online", () => {
  receive(state);
  order("online");
});
window.addEventListener("offline", () => {
  offlineAt = Date.now();
  receive(state);
});
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && order("tell"));
window.addEventListener("pagehide", () => tabs.stop());
window.addEventListener("pageshow", ({ persisted }) => persisted && tabs.start());
tabs.start();
setInterval(second, 1000);
