// Several tabs of one browser share one live connection.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newVisitor, position, until, untilMode, useBrowser } from "./browser.mjs";
import { newRoom } from "./jari.mjs";

useBrowser();

// A follower notices within 25 s, at its next look.
const HUNG_TAB_MS = 45000;

// Counts the calls a page makes for its place.
function countCalls(page) {
  const calls = { streams: 0, asks: 0 };
  page.on("request", (request) => {
    if (request.url().includes("/events")) calls.streams += 1;
    if (request.url().includes("/places")) calls.asks += 1;
  });
  return calls;
}

async function twoTabs(room) {
  const visitor = await newVisitor();
  const leader = await visitor.context.newPage();
  const leading = countCalls(leader);
  await leader.goto(room.page);
  await untilMode(leader, "waiting");
  const follower = await visitor.context.newPage();
  const following = countCalls(follower);
  await follower.goto(room.page);
  await untilMode(follower, "waiting");
  return { leader, leading, follower, following };
}

test("a second tab shows the same and calls nobody", async () => {
  const room = await newRoom();
  await room.crowd(20);
  const { leader, leading, follower, following } = await twoTabs(room);
  await until("a stream", () => leading.streams, (streams) => streams === 1);
  await room.move(2);
  const moved = (page) => until("the line moves", () => position(page), (at) => at < 18);
  await Promise.all([moved(leader), moved(follower)]);
  await room.act("pause");
  await Promise.all([untilMode(leader, "paused"), untilMode(follower, "paused")]);
  assert.equal(await position(follower), await position(leader));
  assert.deepEqual(following, { streams: 0, asks: 0 });
  assert.equal(leading.streams, 1);
});

test("when the leading tab closes the other goes on with the same place", async () => {
  const room = await newRoom();
  await room.crowd(5);
  const { leader, follower, following } = await twoTabs(room);
  await leader.close();
  await until("it connects", () => following.asks, (asks) => asks > 0);
  assert.equal(await position(follower), 6);
  await room.move(5);
  await untilMode(follower, "admitted");
});

test("leaving in one tab is seen in the other", async () => {
  const room = await newRoom();
  const { leader, follower } = await twoTabs(room);
  await follower.locator("#leave").click();
  await follower.locator("#confirm button[value=leave]").click();
  await Promise.all([untilMode(leader, "left"), untilMode(follower, "left")]);
});

test("a leading tab that hangs is replaced by one in sight", async () => {
  const room = await newRoom();
  const { leader, follower, following } = await twoTabs(room);
  leader
    .evaluate((ms) => {
      for (const end = Date.now() + ms; Date.now() < end; );
    }, HUNG_TAB_MS)
    .catch(() => {}); // Closed with the test.
  await until("it takes the lead", () => following.asks, (asks) => asks > 0, HUNG_TAB_MS);
  await room.move(5);
  await untilMode(follower, "admitted");
});
