// From the join to the entrance: the place is kept, shown and never goes back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { mode, newVisitor, position, shot, until, untilMode, useBrowser } from "./browser.mjs";
import { JARI_URL, newRoom } from "./jari.mjs";

useBrowser();

test("a visitor joins, waits, is admitted and lands on the target", async () => {
  const room = await newRoom();
  await room.crowd(12);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  assert.equal(await position(page), 13);
  assert.match(await page.title(), /^\(13\) /);
  await room.crowd(3);
  await until("people behind", () => page.locator("#behind").textContent(), (text) => text === "3명");
  await shot(page, "waiting-ko");

  await room.move(5);
  await untilMode(page, "admitted");
  assert.match(await page.title(), /^차례입니다/);
  assert.match(await page.locator("#assertive").textContent(), /차례가 되었습니다/);
  assert.equal(await page.evaluate(() => document.activeElement.id), "enter");
  await shot(page, "admitted-ko");
  await page.keyboard.press("Enter");
  await page.waitForURL(/from=/);
  assert.deepEqual(visitor.complaints, []);
});

test("who went in by another tab is told so, is not sent in again, and hears no more of a turn", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await room.move(5);
  await untilMode(page, "admitted");
  // Another tab went in: the site asked the gate, which is the first use of the pass.
  const gate = await visitor.context.request.get(`${JARI_URL}/v1/gate/${room.room}`);
  assert.equal(gate.status(), 204);
  await page.waitForTimeout(2500);
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await untilMode(page, "inside");
  assert.ok(await page.locator("#auto").isHidden(), "nothing counts down");
  assert.equal(await page.locator("#assertive").textContent(), "");
  assert.doesNotMatch(await page.title(), /차례입니다/);
  await shot(page, "inside-ko");
  await page.waitForTimeout(11000);
  assert.equal(page.url(), room.page);
});

test("a turn that passes keeps the reader's place on the page", async () => {
  const room = await newRoom({ claim_window_ms: 10000 });
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await room.move(5);
  await untilMode(page, "admitted");
  await page.locator("#stay").click();
  assert.equal(await page.evaluate(() => document.activeElement.id), "enter");
  await room.act("pause");
  await until("the turn passes", () => mode(page), (now) => now !== "admitted", 30000);
  assert.equal(await page.evaluate(() => document.activeElement.id), "headline");
  assert.equal(await page.locator("#assertive").textContent(), "");
});

test("the page enters by itself after a while, unless that is stopped", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await room.move(5);
  await untilMode(page, "admitted");
  await page.locator("#stay").click();
  assert.match(await page.locator("#auto").textContent(), /취소했습니다/);
  await page.waitForTimeout(11000);
  assert.equal(page.url(), room.page, "stopped");

  const other = await newVisitor();
  const second = await other.context.newPage();
  await second.goto(room.page);
  await untilMode(second, "admitted");
  await second.waitForURL(/from=/, { timeout: 14000 });
});

test("a reload keeps the place, and the shown position never rises", async () => {
  const room = await newRoom();
  await room.crowd(30);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  await room.move(4);
  const shown = [];
  for (let round = 0; round < 3; round += 1) {
    for (let look = 0; look < 8; look += 1) {
      const text = await page.locator("#position").textContent();
      if (text) shown.push(Number(text));
      await page.waitForTimeout(200);
    }
    await page.reload();
  }
  await room.act("pause");
  for (let i = 1; i < shown.length; i += 1) {
    assert.ok(shown[i] <= shown[i - 1], `Q: shown positions ${shown}`);
  }
  assert.ok(shown.at(-1) < shown[0], `the line moved: ${shown}`);
});

test("leaving asks first, ends the place, and joining again starts at the end", async () => {
  const room = await newRoom();
  await room.crowd(2);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  assert.equal(await position(page), 3);
  await page.locator("#leave").click();
  await page.locator("#confirm button[value=stay]").click();
  assert.equal(await position(page), 3);
  await page.locator("#leave").click();
  await page.locator("#confirm button[value=leave]").click();
  await untilMode(page, "left");
  await page.reload();
  await untilMode(page, "left");
  await room.crowd(2);
  await page.locator("#rejoin").click();
  await untilMode(page, "waiting");
  assert.equal(await position(page), 5);
});
