// Draws a state on the page. Decides nothing that is not about looks, and makes no calls.
import { ROOT } from "./call.js";
import { behind, estimateOf, progress } from "./line.js";
import { count, estimateText, say, spanText, timeText } from "./texts.js";

export const at = (id) => document.getElementById(id);

// Only what changed is written: a screen reader's place on the page and a text selection stay.
function text(id, value) {
  if (at(id).textContent !== value) at(id).textContent = value;
}

function visible(id, yes) {
  at(id).hidden = !yes;
}

// Where a position means something.
export const IN_LINE = ["waiting", "next", "absent", "paused", "ready", "closed_kept"];
const SOUND = [...IN_LINE, "connecting", "checking", "not_open", "busy", "room_full", "offline"];

// `scene` is {state, mode, shown, memory, now, title, offlineAt, wanted}.
export function draw(scene) {
  const { state, mode, shown } = scene;
  const line = state.line ?? {};
  const held = ["waiting", "next", "absent"].includes(state.view?.status);
  at("card").dataset.mode = mode;
  text("headline", say(`headline.${mode}`));
  text("detail", detailText(scene, line));
  visible("numbers", shown !== undefined);
  if (shown !== undefined) drawNumbers(scene, line);
  visible("check", mode === "checking");
  at("check-progress").value = state.problem?.percent ?? 0;
  drawOpening(scene, line);
  drawTurn(scene);
  drawNotice(line);
  visible("again", mode === "ended" || mode === "left");
  visible("leave", held);
  visible("sound", SOUND.includes(mode));
  visible("about", SOUND.includes(mode));
  drawTrouble(scene);
  document.title = titleText(scene);
}

function detailText({ state, mode }, line) {
  const told = state.problem?.message || line.message;
  const reopens = state.problem?.reopens_at ?? line.reopens_at;
  if (!["closed", "closed_kept", "sold_out"].includes(mode)) return say(`detail.${mode}`);
  const parts = [told || say(`detail.${mode}`)];
  if (reopens) parts.push(say("reopens_at", { time: timeText(reopens) }));
  return parts.join("\n");
}

function drawNumbers({ state, shown, memory }, line) {
  text("position", count(shown));
  text("unit", say("unit"));
  at("progress").value = progress(memory);
  const { estimate, no_estimate } = estimateOf(state.view, line);
  text("estimate", estimateText(estimate, no_estimate));
  text("behind", say("people", { n: count(behind(state.view, line, shown) ?? 0) }));
  // Why an estimate moved is no news to who is shown none.
  const moved = estimate || line.moved === "resumed" ? line.moved : undefined;
  visible("moved", Boolean(moved));
  text("moved", moved ? say(`moved.${moved}`) : "");
}

function drawOpening({ state, mode, now }, line) {
  const opens = state.problem?.opens_at ?? line.opens_at;
  visible("opening", (mode === "not_open" || mode === "ready") && Boolean(opens));
  if (!opens) return;
  const left = Date.parse(opens) - now - (state.skewMs ?? 0);
  text("countdown", left > 0 ? spanText(left) : say("opens_soon"));
  text("opens", say("opens_at", { time: timeText(opens) }));
}

export function passLeftMs(state, now) {
  return state.view.pass.remaining_ms - (now - state.viewAt);
}

// Where the visitor goes now. Tabs share what they are told, and with it where the one that leads wants to go: a tab that was
// called for a page of its own, `wanted`, goes by the room's door, which judges it. Only the web's own schemes: a link must not
// become a script.
export function enterUrl(state, wanted) {
  try {
    const { view, problem } = state;
    const told = view?.go_to ?? view?.pass?.target_url ?? problem.target_url;
    const door = `${ROOT}/rooms/${document.body.dataset.room}/go?return=${encodeURIComponent(wanted)}`;
    const url = new URL(told && wanted ? door : told, location.href);
    return /^https?:$/.test(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}

function drawTurn({ state, mode, now, wanted }) {
  const pass = mode === "admitted" || mode === "inside" ? state.view.pass : undefined;
  const url = (pass || mode === "off") && enterUrl(state, wanted);
  visible("turn", Boolean(url));
  if (!url) return;
  if (at("enter").href !== url) at("enter").href = url;
  if (!pass) return text("remaining", "");
  const span = spanText(passLeftMs(state, now));
  text("remaining", say(pass.claimed ? "remaining_claimed" : "remaining", { span }));
}

function drawNotice(line) {
  visible("notice", Boolean(line.notice?.text));
  text("notice-text", line.notice?.text ?? "");
}

// The browser knows that it is offline long before a silent stream shows it; what was heard since says it is not so.
export function troubleText({ view, problem, at = 0 }, offlineAt) {
  if (!view || view.status === "ended") return "";
  if (navigator.onLine === false && (problem || at < offlineAt)) return say("trouble.offline");
  return problem && problem.code !== "recovering" ? say("trouble.retry") : "";
}

function drawTrouble({ state, offlineAt }) {
  const trouble = troubleText(state, offlineAt);
  visible("trouble", Boolean(trouble));
  text("trouble", trouble);
}

function titleText({ mode, shown, title }) {
  if (mode === "admitted") return `${say("turn_title")} · ${title}`;
  return shown === undefined ? title : `(${count(shown)}) ${title}`;
}
