// A server that hangs, refuses or forgets strands nobody: the same place, on a new connection, within the page's limits.
import assert from "node:assert/strict";
import { test } from "node:test";
import { closeLater, newVisitor, position, until, untilMode, useBrowser } from "./browser.mjs";
import { newRoom } from "./jari.mjs";
import { hangingProxy } from "./proxy.mjs";

useBrowser();

// One silent call, its pause and the next answer.
const HUNG_CALL_MS = 8000 + 3000;
// A stream is silent for so long before a call beside it is made; calls may meet the few other connections that hang, one by
// one, and each time it is as long until the next.
const QUIET_MS = 6000;
const HUNG_STREAM_MS = QUIET_MS + 3 * (HUNG_CALL_MS + QUIET_MS);

const through = (proxy, room) => `${proxy.url}/rooms/${room.room}`;

test("a stream that falls silent is dropped and the page goes on", async () => {
  const room = await newRoom();
  await room.crowd(4);
  const proxy = closeLater(await hangingProxy());
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(through(proxy, room));
  await untilMode(page, "waiting");
  assert.equal(await position(page), 5);
  const before = proxy.connections();
  proxy.hangOpenConnections();
  await room.move(5);
  await untilMode(page, "admitted", HUNG_STREAM_MS);
  assert.ok(proxy.connections() > before, "on a new connection");
});

test("a stream that hangs where calls are answered is left within 10 s, with the same place", async () => {
  const room = await newRoom();
  await room.crowd(4);
  const proxy = closeLater(await hangingProxy());
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  let streams = 0;
  page.on("request", (request) => (streams += request.url().endsWith("/events") ? 1 : 0));
  await page.goto(through(proxy, room));
  await until("it streams", () => streams, (made) => made === 1);
  await untilMode(page, "waiting");
  assert.equal(await position(page), 5);
  const since = Date.now();
  proxy.hangStreams();
  await until("another stream is opened", () => streams, (made) => made === 2);
  const took = Date.now() - since;
  assert.ok(took < 10000, `${took} ms`);
  assert.equal(await position(page), 5);
});

test("a stream that is only slow is kept: nothing tells that its node hangs", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  let [streams, asked] = [0, 0];
  const proxy = closeLater(await hangingProxy());
  page.on("request", (request) => (streams += request.url().endsWith("/events") ? 1 : 0));
  await page.goto(through(proxy, room));
  await until("it streams", () => streams, (made) => made === 1);
  await untilMode(page, "waiting");
  // Calls beside it are not answered either.
  await page.route("**/places/me", () => void (asked += 1));
  proxy.hangOpenConnections();
  await until("it asks beside the stream", () => asked, (made) => made > 0, 20000);
  proxy.goOn();
  await room.act("announce", { text: "곧 시작합니다" });
  await page.locator("#notice").filter({ hasText: "곧 시작합니다" }).waitFor();
  assert.equal(streams, 1);
});

test("a poll that hangs is made again on a new connection, with the same place", async () => {
  const room = await newRoom();
  await room.crowd(4);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.route("**/events", (route) => route.fulfill({ status: 503, body: '{"code":"stream_refused"}' }));
  let hangs = 1;
  let answers = 0;
  await page.route("**/places/me", async (route) => {
    if (hangs-- > 0) return; // Never answered.
    answers += 1;
    await route.continue();
  });
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await page.locator("#trouble").waitFor({ timeout: 10000 + HUNG_CALL_MS });
  assert.equal(await position(page), 5, "the position stays on the page meanwhile");
  await page.locator("#trouble").waitFor({ state: "hidden", timeout: HUNG_CALL_MS });
  assert.ok(answers > 0);
  assert.equal(await position(page), 5);
});

test("a join whose answer is lost gives the same place when it is made again", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  let lose = 1;
  await page.route("**/places", async (route) => {
    if (lose-- > 0) {
      await route.fetch();
      await route.abort();
    } else {
      await route.continue();
    }
  });
  await page.goto(room.page);
  await untilMode(page, "waiting");
  assert.equal(await position(page), 1);
});

test("refusals that pass by themselves are waited out as long as they say", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  const asked = [];
  await page.route("**/places", async (route) => {
    asked.push(Date.now());
    if (asked.length > 1) return route.continue();
    await route.fulfill({ status: 503, body: '{"code":"overloaded","poll_after_ms":2500}' });
  });
  await page.goto(room.page);
  await untilMode(page, "busy");
  await untilMode(page, "waiting");
  const pause = asked[1] - asked[0];
  assert.ok(pause >= 2500 && pause < 5000, `${pause} ms`);
});

test("a lost place cookie is made good by the identity; a lost identity by a new one", async () => {
  const room = await newRoom();
  await room.crowd(2);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.route("**/events", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.goto(room.page);
  assert.equal(await position(page), 3);
  await visitor.context.clearCookies({ name: `jari_place_${room.room}` });
  await page.waitForResponse((response) => response.url().endsWith("/places") && response.ok(), { timeout: 20000 });
  assert.equal(await position(page), 3);
  await visitor.context.clearCookies();
  await page.waitForResponse((response) => response.url().endsWith("/v1/visitors"), { timeout: 20000 });
  await until("it waits again", () => page.locator("#trouble").isHidden(), Boolean);
  await untilMode(page, "waiting");
});

test("who goes offline is told at once, not when the stream has been silent long enough", async () => {
  const room = await newRoom();
  const proxy = closeLater(await hangingProxy());
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  const calls = { streams: 0, asks: 0 };
  page.on("request", (request) => {
    if (request.url().endsWith("/events")) calls.streams += 1;
    if (request.url().endsWith("/places/me")) calls.asks += 1;
  });
  await page.goto(through(proxy, room));
  await until("it streams", () => calls.streams, (made) => made === 1);
  await untilMode(page, "waiting");
  proxy.hangOpenConnections();
  await page.waitForTimeout(500);
  const { asks } = calls;
  await visitor.context.setOffline(true);
  await page.locator("#trouble").filter({ hasText: "인터넷 연결이 끊겼습니다" }).waitFor({ timeout: 2000 });
  assert.match(await page.locator("#polite").textContent(), /인터넷 연결이 끊겼습니다/);
  await visitor.context.setOffline(false);
  await until("it asks anew", () => calls.asks, (made) => made > asks, 5000);
});

test("back online the page asks at once", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.route("**/events", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await visitor.context.setOffline(true);
  await page.locator("#trouble").filter({ hasText: "인터넷 연결이 끊겼습니다" }).waitFor({ timeout: 20000 });
  await page.waitForTimeout(5000);
  await visitor.context.setOffline(false);
  await page.locator("#trouble").waitFor({ state: "hidden", timeout: 5000 });
});
