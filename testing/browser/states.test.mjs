// Every state of a room has its own words, in both languages.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newVisitor, position, shot, until, untilMode, useBrowser } from "./browser.mjs";
import { newRoom } from "./jari.mjs";

useBrowser();

async function open(room, options) {
  const visitor = await newVisitor(options);
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  return { visitor, page };
}

const headline = (page) => page.locator("#headline").textContent();

test("an operator's notice is shown and announced", async () => {
  const room = await newRoom();
  const { visitor, page } = await open(room);
  await untilMode(page, "waiting");
  await room.act("announce", { text: "결제 점검으로 10분간 천천히 입장합니다." });
  await page.locator("#notice-text").filter({ hasText: "결제 점검" }).waitFor();
  assert.match(await page.locator("#polite").textContent(), /^안내 말씀: 결제 점검.*입장합니다\.$/);
  await shot(page, "notice-ko");
});

test("a pause is told and keeps the place; going on is told too", async () => {
  const room = await newRoom();
  await room.crowd(3);
  const { visitor, page } = await open(room);
  await untilMode(page, "waiting");
  await room.act("pause");
  await untilMode(page, "paused");
  assert.equal(await position(page), 4);
  await page.locator("#estimate").filter({ hasText: "재개 후 안내" }).waitFor();
  assert.match(await page.locator("#polite").textContent(), /^입장이 잠시 멈췄습니다\. 순서는/);
  await shot(page, "paused-ko");
  await room.act("resume");
  await untilMode(page, "waiting");
  await page.locator("#moved").filter({ hasText: "다시 시작" }).waitFor();
  assert.equal(await page.locator("#estimate").textContent(), "확인 중", "it is not paused any more");
});

test("before the opening there is a countdown, and the page joins by itself", async () => {
  const room = await newRoom({ opens_at: new Date(Date.now() + 8000).toISOString() });
  const { visitor, page } = await open(room);
  await untilMode(page, "not_open");
  assert.match(await page.locator("#countdown").textContent(), /^\d초$/);
  await shot(page, "not-open-ko");
  await untilMode(page, "waiting", 20000);
});

test("a closed room says why and when it opens again", async () => {
  const room = await newRoom();
  const reopens_at = new Date(Date.now() + 86400000).toISOString();
  await room.act("close", { message: "오늘 예매를 마쳤습니다.", reopens_at });
  const { visitor, page } = await open(room);
  await untilMode(page, "closed");
  assert.match(await page.locator("#detail").textContent(), /오늘 예매를 마쳤습니다.\s+다시 여는 시각/);
});

test("a room that closes keeps those in line and tells them", async () => {
  const room = await newRoom();
  const { visitor, page } = await open(room);
  await untilMode(page, "waiting");
  await room.act("close", { message: "내일 이어서 진행합니다." });
  await untilMode(page, "closed_kept");
  assert.match(await page.locator("#detail").textContent(), /내일 이어서/);
});

test("sold out is told to newcomers and to those in line", async () => {
  const room = await newRoom();
  const waiting = await open(room);
  await untilMode(waiting.page, "waiting");
  await room.act("sold-out", { sold_out: true });
  await untilMode(waiting.page, "sold_out");
  assert.doesNotMatch(await waiting.page.locator("#polite").textContent(), /번째/);
  assert.equal(await waiting.page.title(), "가을 음악회 예매", "a position means nothing any more");
  const late = await open(room);
  await untilMode(late.page, "sold_out");
});

test("the browser's language is spoken, and the switch is remembered", async () => {
  const room = await newRoom();
  await room.crowd(7);
  const { visitor, page } = await open(room, { locale: "en-US" });
  await untilMode(page, "waiting");
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  assert.equal(await headline(page), "You are in line");
  assert.equal(await position(page), 8);
  await shot(page, "waiting-en");
  await page.getByRole("link", { name: "한국어" }).click();
  await untilMode(page, "waiting");
  assert.equal(await headline(page), "순서대로 입장을 안내하고 있습니다");
  await page.goto(room.page);
  assert.equal(await page.locator("html").getAttribute("lang"), "ko");
  assert.equal(await position(page), 8);
  await page.getByRole("link", { name: "English" }).click();
  await room.move(20);
  await untilMode(page, "admitted");
  await shot(page, "admitted-en");
});

test("a room that is not there says so in both languages", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  const response = await page.goto(`${room.page}-gone`);
  assert.equal(response.status(), 404);
  const text = await page.locator("main").textContent();
  assert.match(text, /대기실을 찾을 수 없습니다/);
  assert.match(text, /has ended or its address has changed/);
});

test("a room that slows down says why the estimate moved", async () => {
  const room = await newRoom({ capacity: 5000, rate_per_s: 0.2 });
  await room.crowd(5);
  const { visitor, page } = await open(room);
  await untilMode(page, "waiting");
  await room.set({ rate_per_s: 0.1 });
  await page.locator("#moved").filter({ hasText: "입장 속도를 조절" }).waitFor();
  assert.ok(await until("an estimate", () => page.locator("#estimate").textContent(), Boolean));
});
