// Without scripts the page works through to entering.
import assert from "node:assert/strict";
import { test } from "node:test";
import { newVisitor, position, shot, useBrowser } from "./browser.mjs";
import { newRoom } from "./jari.mjs";

useBrowser();

test("without scripts: joined, waited, admitted, entered", async () => {
  const room = await newRoom();
  await room.crowd(2);
  const visitor = await newVisitor({ javaScriptEnabled: false });
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  await page.waitForURL(/\/plain/);
  await page.locator("#join").click();
  assert.equal(await position(page), 3);
  await shot(page, "plain-waiting-ko");
  await room.move(5);
  await page.locator("#enter").waitFor({ timeout: 30000 });
  await shot(page, "plain-admitted-ko");
  await page.locator("#enter").click();
  await page.waitForURL(/from=/);
});

test("without scripts: leaving, and joining again at the end", async () => {
  const room = await newRoom();
  const visitor = await newVisitor({ javaScriptEnabled: false, locale: "en-US" });
  const page = await visitor.context.newPage();
  await page.goto(`${room.page}/plain`);
  await page.locator("#join").click();
  assert.equal(await position(page), 1);
  await room.crowd(1);
  await page.locator("#leave").click();
  await page.getByRole("button", { name: /Join the line/ }).click();
  assert.equal(await position(page), 2);
});

test("a form from elsewhere is refused", async () => {
  const room = await newRoom();
  const visitor = await newVisitor();
  const answer = await visitor.context.request.post(`${room.page}/plain/join`, {
    headers: { origin: "https://elsewhere.example" },
  });
  assert.equal(answer.status(), 403);
});
