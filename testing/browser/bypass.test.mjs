// What a person in line tries with their own browser to get past the others: none of it reaches the guarded site, and none of
// it costs them their place. What is tried with raw requests stands in server/app/tests/attacks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, untilMode, useBrowser } from "./browser.mjs";
import {
  goIn,
  isRoomPage,
  oneInsideOneWaiting,
  person,
  protectedSite,
  ROOM,
  stillWaits,
  theSecondLands,
  WANTED,
} from "./landing.mjs";

// Playwright turns the back/forward cache off, which people have.
useBrowser({ ignoreDefaultArgs: ["--disable-back-forward-cache"] });

const SPELLINGS = [
  WANTED,
  "/tickets/",
  "/TICKETS/42",
  "/%74ickets/42",
  "/%2574ickets/42",
  "//tickets/42",
  "/about/..//tickets/42",
  "/about/..%2ftickets/42",
  "/about/%2e%2e/tickets/42",
  "/tickets%2f42",
  "/tickets%5c42",
  "/;a/tickets/42",
  "/.jari/../tickets/42",
  "/.jari/..%2ftickets/42",
  "/\uff54ickets/42",
];

// What a script may say of itself, and what only the gate may say.
const TRIES = [
  {},
  { method: "POST", body: "x" },
  { method: "HEAD" },
  { method: "OPTIONS" },
  { credentials: "omit" },
  { redirect: "manual", mode: "same-origin" },
  { headers: { "jari-room": ROOM, "jari-seq": "1", "jari-subject": "0".repeat(32), "jari-unchecked": "off" } },
  { headers: { "x-original-url": "/about", "x-rewrite-url": "/about", "x-forwarded-uri": "/about" } },
  { headers: { "x-forwarded-for": "127.0.0.1", "x-real-ip": "127.0.0.1", "x-forwarded-host": "localhost" } },
  { headers: { authorization: "Bearer AQMBBHNob3AAAAAAAAAABw" } },
];

// In the page: asks for every spelling in every way, and tells what did not end in a refusal.
async function askForAll([spellings, tries]) {
  const bad = [];
  for (const target of spellings) {
    for (const init of tries) {
      const answer = await fetch(location.origin + target, init).catch(() => undefined);
      const text = (await answer?.text()) ?? "";
      if (!answer || answer.ok || text.includes('id="here"')) bad.push([target, init, answer?.status]);
    }
  }
  return bad;
}

// In the page: everything else that loads an address.
function loadByOtherMeans(target) {
  const ended = (thing, ...events) =>
    new Promise((done) => events.forEach((event) => thing.addEventListener(event, done, { once: true })));
  const element = (name, more) => {
    const made = Object.assign(document.createElement(name), more);
    const over = ended(made, "load", "error");
    document.body.append(made);
    return over;
  };
  const xhr = new XMLHttpRequest();
  xhr.open("GET", target);
  xhr.send();
  return Promise.all([
    ended(xhr, "loadend"),
    element("img", { src: target }),
    element("script", { src: target }),
    element("link", { rel: "stylesheet", href: target }),
    element("iframe", { src: target }),
    element("object", { data: target }),
    ended(new EventSource(target), "error"),
    ended(new WebSocket(location.origin.replace("http", "ws") + target), "error"),
    fetch(target, { keepalive: true }),
  ]).then(() => true);
}

test("issue_5: fetch from the developer's tools opens no guarded page in any spelling", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  const open = await second.context.newPage();
  await open.goto(`${stage.entrance}/about`);
  for (const page of [second.page, open]) {
    assert.deepEqual(await page.evaluate(askForAll, [SPELLINGS, TRIES]), []);
  }
  assert.equal(await open.evaluate(loadByOtherMeans, WANTED), true);
  assert.deepEqual(stage.site.guardedBy("second"), []);
  const { live, waiting } = await stage.stats();
  assert.deepEqual([live, waiting], [1, 1], "no second place either");
  await stillWaits(second);
  await theSecondLands(stage, first, second);
});

test("issue_5: a form, a link and the address bar lead to the line and not past it", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  const tab = await second.context.newPage();
  for (const target of ["/tickets/42", "//tickets/42", "/TICKETS/42", "/%74ickets/42"]) {
    await tab.goto(stage.entrance + target);
    assert.ok(isRoomPage(tab.url()), `${target}: ${tab.url()}`);
  }
  for (const method of ["get", "post"]) {
    await tab.goto(`${stage.entrance}/about`);
    const [answer] = await Promise.all([
      tab.waitForResponse((response) => new URL(response.url()).pathname === "/tickets/form"),
      // Else the next address meets the way there.
      tab.waitForEvent("load"),
      tab.evaluate((method) => {
        const form = Object.assign(document.createElement("form"), { method, action: "/tickets/form" });
        document.body.append(form);
        form.submit();
      }, method),
    ]);
    assert.ok([303, 428].includes(answer.status()), `${method}: ${answer.status()}`);
  }
  assert.deepEqual(stage.site.guardedBy("second"), []);
  await tab.close();
  // Where the way back leads is the page that was wanted last.
  await second.page.goto(stage.entrance + WANTED);
  await stillWaits(second);
  await theSecondLands(stage, first, second);
});

// In every page, before its own scripts: its clock goes wrong by so much.
function shiftClock(ms) {
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) {
      super(...(given.length ? given : [Real.now() + ms]));
    }
    static now() {
      return Real.now() + ms;
    }
  };
}

for (const [name, ms] of [["a day ahead", 86400000], ["a day behind", -86400000]]) {
  test(`issue_5: a browser's clock that is ${name} changes nothing`, async () => {
    const stage = await protectedSite();
    const { first, second } = await oneInsideOneWaiting(stage);
    await second.context.addInitScript(shiftClock, ms);
    await second.page.reload();
    const shifted = await second.page.evaluate(() => Date.now());
    assert.ok(Math.abs(shifted - Date.now() - ms) < 60000, "the clock is wrong");
    await stillWaits(second);
    await second.page.goto(stage.entrance + WANTED);
    await stillWaits(second);
    assert.equal((await stage.stats()).waiting, 1);
    await theSecondLands(stage, first, second);
  });
}

test("issue_5: an answer that is changed on its way to the page opens the page's door only", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  const tab = await second.context.newPage();
  const pass = { token: "AQMBBHNob3A", target_url: WANTED, claimed: false, remaining_ms: 120000 };
  const forge = async (route) => {
    const response = await route.fetch();
    const view = { ...(await response.json()), status: "admitted", pass };
    await route.fulfill({ response, json: view });
  };
  await tab.route(/\/places(\/me)?$/, forge);
  await tab.route("**/events", (route) => route.fulfill({ status: 503, body: "{}" }));
  // The leading tab tells the others: the one that is told lies must lead.
  await second.page.close();
  await tab.goto(stage.entrance + WANTED);
  await untilMode(tab, "admitted");
  const [answer] = await Promise.all([
    tab.waitForResponse((response) => new URL(response.url()).pathname === `/.jari/rooms/${ROOM}/go`),
    tab.locator("#enter").click(),
  ]);
  assert.equal(answer.status(), 303, "the door asks the server and not the page");
  await tab.waitForURL((url) => isRoomPage(url.href));
  const refused = await tab.goto(stage.entrance + WANTED);
  assert.equal((await refused.request().redirectedFrom()?.response())?.status(), 303, "and so does the gate");
  assert.deepEqual(stage.site.guardedBy("second"), []);
  await tab.unrouteAll({ behavior: "wait" });
  await tab.reload();
  await stillWaits({ page: tab });
  await theSecondLands(stage, first, { ...second, page: tab });
});

test("issue_5: aeroplane mode and back keeps the place and opens nothing", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  const tab = await second.context.newPage();
  await second.context.setOffline(true);
  await second.page.locator("#trouble").waitFor();
  await assert.rejects(tab.goto(stage.entrance + WANTED), /ERR_INTERNET_DISCONNECTED/);
  await second.context.setOffline(false);
  await second.page.locator("#trouble").waitFor({ state: "hidden" });
  await stillWaits(second);
  await tab.goto(stage.entrance + WANTED);
  await stillWaits({ page: tab });
  await tab.close();
  assert.equal((await stage.stats()).waiting, 1);
  await theSecondLands(stage, first, second);
});

test("issue_5: the direct address in a second tab is the same place in line", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  const tab = await second.context.newPage();
  await tab.goto(stage.entrance + WANTED);
  await stillWaits({ page: tab });
  assert.equal((await stage.stats()).waiting, 1, "one person, one place");
  await tab.close();
  await theSecondLands(stage, first, second);
});

// Who has all of a person's cookies is that person, as anywhere on the web: what can be held is that no script reads them, and
// that a copy is no second person inside.
test("issue_5: cookies that were copied from who is inside bring nobody else in and end with their owner's pass", async () => {
  const stage = await protectedSite();
  const { first, second } = await oneInsideOneWaiting(stage);
  assert.doesNotMatch(await first.page.evaluate(() => document.cookie), /jari/, "no script can read them");
  const jar = await first.context.cookies();
  const secret = jar.filter(({ name }) => name.startsWith("jari_"));
  assert.ok(secret.length >= 3 && secret.every(({ httpOnly }) => httpOnly), JSON.stringify(jar));
  const copy = await person("copy");
  await copy.context.addCookies(jar);
  await copy.page.goto(`${stage.entrance}/tickets/1`);
  const whose = stage.site.seen.filter((at) => at.headers["jari-seq"]).map((at) => at.headers["jari-seq"]);
  assert.equal(new Set(whose).size, 1, "the site is told that it is the same person");
  const { live, waiting } = await stage.stats();
  assert.deepEqual([live, waiting], [1, 1], "nobody else is inside, nobody has lost a place");
  await stillWaits(second);
  await theSecondLands(stage, first, second);
  const before = stage.site.guardedBy("copy").length;
  await copy.page.goto(`${stage.entrance}/tickets/1`);
  assert.ok(isRoomPage(copy.page.url()), "once its owner has given it back, every copy is worth nothing");
  assert.equal(stage.site.guardedBy("copy").length, before);
});

// A page that comes out of the cache is not loaded: its script goes with the page that it leaves, and no load is heard.
const walk = (page, steps) => page.evaluate((steps) => setTimeout(() => history.go(steps)), steps);
const arrived = (page, good) => until("the page is another", () => page.url(), good);

test("issue_5: going back and forward shows the line again and asks the site for nothing", async () => {
  const stage = await protectedSite();
  const first = await person("first");
  await goIn(first, stage.entrance, "/tickets/1");
  const second = await person("second");
  const { page } = second;
  await page.goto(`${stage.entrance}/about`);
  await page.goto(stage.entrance + WANTED);
  await stillWaits(second);
  for (let round = 0; round < 2; round += 1) {
    await walk(page, -1);
    await arrived(page, (url) => url.endsWith("/about"));
    await walk(page, 1);
    await arrived(page, isRoomPage);
    await stillWaits(second);
  }
  assert.equal((await stage.stats()).waiting, 1);
  await theSecondLands(stage, first, second);
  // And who has left does not get in again by going back: what the browser kept is old, and the next request is led away.
  await first.page.goto(`${stage.entrance}/about`);
  await walk(first.page, -1);
  await arrived(first.page, (url) => !url.endsWith("/about"));
  await first.page.reload();
  assert.ok(isRoomPage(first.page.url()), first.page.url());
  assert.deepEqual(stage.site.guardedBy("first"), ["GET /tickets/1"]);
});
