// The page is usable by everybody: screen readers, keyboards, small and dark screens, slow networks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newVisitor, shot, until, untilMode, useBrowser } from "./browser.mjs";
import { newRoom } from "./jari.mjs";
import { GRAVE, violations } from "./violations.mjs";

useBrowser();

const PAGE_MAX_BYTES = 20000;
const PHONE = { viewport: { width: 320, height: 640 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

for (const colorScheme of ["light", "dark"]) {
  test(`waiting, leaving and entering have no serious violations, ${colorScheme}`, async () => {
    const room = await newRoom({ capacity: 5000, rate_per_s: 0.5 });
    await room.crowd(120);
    const visitor = await newVisitor({ colorScheme });
    const page = await visitor.context.newPage();
    await page.goto(room.page);
    await untilMode(page, "waiting");
    await room.crowd(14);
    await until("people behind", () => page.locator("#behind").textContent(), (text) => text === "14명");
    await room.act("announce", { text: "준비된 좌석은 모두 3,000석입니다." });
    await page.locator("#notice").waitFor();
    assert.deepEqual(await violations(page, GRAVE), []);
    await shot(page, `waiting-${colorScheme}`);
    await page.locator("#leave").click();
    assert.deepEqual(await violations(page, GRAVE), []);
    await shot(page, `leave-${colorScheme}`);
    await page.keyboard.press("Escape");
    await room.move(200);
    await untilMode(page, "admitted", 30000);
    assert.deepEqual(await violations(page, GRAVE), []);
    await shot(page, `admitted-${colorScheme}`);
    assert.deepEqual(visitor.complaints, []);
  });
}

for (const [name, locale] of [["ko", "ko-KR"], ["en", "en-US"]]) {
  test(`a phone of 320 px scrolls in one direction only, ${name}`, async () => {
    const room = await newRoom();
    const visitor = await newVisitor({ ...PHONE, locale });
    const page = await visitor.context.newPage();
    await page.goto(room.page);
    await untilMode(page, "waiting");
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok((await overflow()) <= 0);
    await shot(page, `phone-waiting-${name}`);
    // The largest line there may be by default: its number is not broken in two.
    await page.evaluate(() => (document.getElementById("position").textContent = "2,000,000"));
    const rows = await page.locator("#position").evaluate((number) => number.getClientRects().length);
    assert.ok(rows === 1 && (await overflow()) <= 0, `${rows} rows`);
    await room.move(5);
    await untilMode(page, "admitted");
    assert.ok((await overflow()) <= 0);
    await shot(page, `phone-admitted-${name}`);
  });
}

test("a page loads less than 20 KB in all, and breaks no rule of its policy", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  const cdp = await visitor.context.newCDPSession(page);
  await cdp.send("Network.enable");
  let bytes = 0;
  let watching = true;
  cdp.on("Network.loadingFinished", ({ encodedDataLength }) => watching && (bytes += encodedDataLength));
  const response = await page.goto(room.page);
  await untilMode(page, "waiting");
  watching = false;
  assert.match(response.headers()["content-security-policy"], /default-src 'none'/);
  assert.ok(bytes > 3000 && bytes < PAGE_MAX_BYTES, `${bytes} bytes`);
  assert.deepEqual(visitor.complaints, []);
});

test("everything can be reached and used by keyboard alone", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  const stops = [];
  for (let i = 0; i < 4; i += 1) {
    await page.keyboard.press("Tab");
    stops.push(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
  }
  assert.deepEqual(stops, ["A", "sound", "leave", "A"]);
  await page.locator("#sound").focus();
  await page.keyboard.press("Space");
  assert.equal(await page.locator("#sound").getAttribute("aria-pressed"), "true");
  await page.locator("#leave").focus();
  await page.keyboard.press("Enter");
  assert.ok(await page.locator("#confirm").isVisible());
  await page.keyboard.press("Escape");
  assert.ok(await page.locator("#confirm").isHidden());
  await untilMode(page, "waiting");
});

test("positions are announced at most every 30 s, states at once", async () => {
  const room = await newRoom();
  await room.crowd(40);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await page.evaluate(() => {
    window.said = [];
    const region = document.getElementById("polite");
    new MutationObserver(() => window.said.push(region.textContent)).observe(region, { childList: true });
  });
  await room.move(2);
  await page.waitForTimeout(8000);
  assert.deepEqual(await page.evaluate(() => window.said), []);
  await room.act("pause");
  await until("the pause is said", () => page.evaluate(() => window.said.join()), (said) => said.includes("멈췄습니다"));
});
