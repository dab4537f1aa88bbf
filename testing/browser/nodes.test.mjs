// Two nodes, one room, a browser on each; then one node is killed. Its visitor goes on through the other, who notices nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newVisitor, position, shot, until, untilMode, useBrowser } from "./browser.mjs";
import { ownHouse } from "./house.mjs";
import { newRoom } from "./jari.mjs";

useBrowser();

// A page whose stream broke off asks at once, and with growing pauses where nobody answers.
const BACK_MS = 10000;

// A visitor on the room's page, and what happened to their page since: streams opened, and moments of trouble.
async function waitingIn(room) {
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  const seen = { streams: 0 };
  page.on("request", (request) => (seen.streams += request.url().endsWith("/events") ? 1 : 0));
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await until("it streams", () => seen.streams, (streams) => streams > 0);
  return { page, seen, visitor };
}

const streams = ({ nodes }) => Promise.all(nodes.map((node) => node.streams()));

// Notes whatever the page shows of it from now on, however short.
const watchTrouble = (page) =>
  page.evaluate(() => {
    window.troubles = [];
    const trouble = document.getElementById("trouble");
    const look = () => trouble.hidden || window.troubles.push(trouble.textContent);
    new MutationObserver(look).observe(trouble, { attributes: true, childList: true, subtree: true });
  });

// nginx deals calls out in turn: opened anew, the stream of this page is at the other node at last.
async function untilApart(house, page) {
  for (let nth = 0; nth < 20; nth += 1) {
    const held = await until("two streams", () => streams(house), (held) => held[0] + held[1] === 2);
    if (held[0] === 1) return;
    // A page that makes an even number of calls would meet the same node each time.
    if (nth % 2 === 0) await fetch(page.url());
    await page.reload();
    await untilMode(page, "waiting");
  }
  assert.fail("both streams are always at one node");
}

test("issue 4: a browser on each of two nodes, one node is killed, and both keep their place", async () => {
  const house = await ownHouse();
  const room = await newRoom({}, {}, house);
  await Promise.all(house.nodes.map((node) => node.knows(room.room)));
  await room.crowd(3);
  const ari = await waitingIn(room);
  const alone = await until("its stream is held", () => streams(house), (held) => held[0] + held[1] === 1);
  const holder = alone.indexOf(1);
  await room.crowd(2);
  const bora = await waitingIn(room);
  await untilApart(house, bora.page);
  assert.deepEqual([await position(ari.page), await position(bora.page)], [4, 7]);
  await watchTrouble(bora.page);
  await shot(ari.page, "nodes-1-before-of-the-killed");
  await shot(bora.page, "nodes-1-before-of-the-other");

  const before = { ari: ari.seen.streams, bora: bora.seen.streams };
  const other = house.nodes[1 - holder];
  const killed = Date.now();
  await house.nodes[holder].kill();
  await until("the other node holds both", () => other.streams(), (held) => held === 2, BACK_MS);
  console.log(`its visitor was back after ${Date.now() - killed} ms`);
  await ari.page.locator("#trouble").waitFor({ state: "hidden" });
  assert.deepEqual([await position(ari.page), await position(bora.page)], [4, 7], "the same places");
  assert.ok(ari.seen.streams > before.ari, "by a stream of the other node");
  assert.equal(bora.seen.streams, before.bora, "one and the same stream for who was there");
  await shot(ari.page, "nodes-2-after-of-the-killed");
  await shot(bora.page, "nodes-2-after-of-the-other");

  // The line goes on, in order: of seven the first four are let in, then everybody.
  await room.set({ capacity: 4, rate_per_s: 50, burst: 50 });
  await untilMode(ari.page, "admitted");
  await until("the other is nearer", () => position(bora.page), (at) => at === 3);
  await shot(ari.page, "nodes-3-admitted");
  await room.set({ capacity: 100 });
  await untilMode(bora.page, "admitted");
  assert.deepEqual(await bora.page.evaluate(() => window.troubles), [], "and nothing was to be seen");
  assert.deepEqual(bora.visitor.complaints, []);
});
