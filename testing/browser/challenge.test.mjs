// A room that asks for a little work before a place: the page does it by itself, in any browser, and so do ALTCHA's libraries.
import assert from "node:assert/strict";
import { pbkdf2Sync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { solveChallenge } from "altcha-lib";
import { deriveKey } from "altcha-lib/algorithms/pbkdf2";
import { newVisitor, PLAIN_HOST, position, shot, until, untilMode, useBrowser } from "./browser.mjs";
import { JARI_URL, newRoom } from "./jari.mjs";
import { inRoom, said } from "./operator.mjs";
import { GRAVE, violations } from "./violations.mjs";
import "../../web/room/proof.js";

useBrowser();

const asking = (challenge_difficulty = 100, settings = {}) => newRoom(settings, { challenge: "proof_of_work", challenge_difficulty });
// Longer than any test waits: the state itself is looked at.
const HARDEST = 1000000;

async function open(room, options) {
  const visitor = await newVisitor(options);
  const page = await visitor.context.newPage();
  await page.goto(room.page);
  return { ...visitor, page };
}

test("a visitor does the work and is in line, and does it once", async () => {
  const room = await asking();
  const { context, complaints } = await newVisitor();
  const asked = [];
  context.on("request", (request) => request.url().endsWith("/challenge") && asked.push(request.url()));
  const page = await context.newPage();
  await page.goto(room.page);
  await untilMode(page, "waiting");
  assert.equal(await position(page), 1);
  await page.reload();
  await untilMode(page, "waiting");
  const second = await context.newPage();
  await second.goto(room.page);
  await untilMode(second, "waiting");
  assert.equal((await room.stats()).waiting, 1);
  assert.equal(asked.length, 1);
  // The browser itself tells of each refused call: here the one that says that there is work to do.
  assert.deepEqual(complaints.filter((text) => !text.includes("403")), []);
});

for (const [locale, headline] of [["ko-KR", "기기를 잠시 확인하고 있습니다"], ["en-US", "A short check of your device"]]) {
  test(`what the device does is said in plain words, with a progress that is read out, ${locale}`, async () => {
    const room = await asking(HARDEST);
    const { page } = await open(room, { locale, viewport: { width: 320, height: 640 } });
    await untilMode(page, "checking");
    assert.equal(await page.locator("#headline").textContent(), headline);
    assert.match(await page.locator("#polite").textContent(), new RegExp(`^${headline}`));
    const progress = page.locator("#check-progress");
    assert.ok(await progress.getAttribute("aria-label"));
    await until("it moves", () => progress.evaluate((bar) => bar.value), (value) => value > 0, 60000);
    assert.deepEqual(await violations(page, GRAVE), []);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0);
    await shot(page, `checking-${locale.slice(0, 2)}`);
  });
}

test("without a worker the page does the work itself, and stays usable", async () => {
  const room = await asking(2000);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.addInitScript(() => {
    window.Worker = function () {
      throw new Error("no workers here");
    };
  });
  await page.goto(room.page);
  await untilMode(page, "waiting", 60000);
});

test("over plain HTTP, where browsers have no WebCrypto, the work is done as well", async () => {
  const room = await asking(500);
  const visitor = await newVisitor();
  const page = await visitor.context.newPage();
  await page.goto(room.page.replace("127.0.0.1", PLAIN_HOST));
  assert.equal(await page.evaluate(() => isSecureContext || Boolean(crypto.subtle)), false);
  await untilMode(page, "waiting", 60000);
  assert.equal((await room.stats()).waiting, 1);
});

test("a page that waits for the opening has done its work by then", async () => {
  const room = await asking(100, { opens_at: new Date(Date.now() + 8000).toISOString() });
  const { page } = await open(room);
  await untilMode(page, "not_open");
  await untilMode(page, "waiting", 30000);
});

test("without scripts it is said that they are needed", async () => {
  const room = await asking();
  const { page } = await open(room, { javaScriptEnabled: false, locale: "en-US" });
  await page.waitForURL(/\/plain/);
  assert.equal(await page.locator("#headline").textContent(), "This waiting room needs JavaScript");
  assert.equal(await page.locator("#join").count(), 0);
  await shot(page, "plain-challenge-en");
});

test("ALTCHA's own library solves a challenge as it is", async () => {
  const room = await asking();
  const made = await fetch(`${JARI_URL}/v1/visitors`, { method: "POST" });
  const headers = { authorization: `Bearer ${(await made.json()).visitor_token}`, "content-type": "application/json" };
  const challenge = await (await fetch(`${JARI_URL}/v1/rooms/${room.room}/challenge`, { headers })).json();
  const solution = await solveChallenge({ challenge, deriveKey });
  const altcha = btoa(JSON.stringify({ challenge, solution }));
  const place = await fetch(`${JARI_URL}/v1/rooms/${room.room}/places`, { method: "POST", headers, body: JSON.stringify({ altcha }) });
  assert.equal(place.status, 201, await place.text());
});

test("the work by hand, for pages without WebCrypto, leads to the same keys", () => {
  for (const cost of [1, 2, 100]) {
    const [nonce, salt] = [randomBytes(16), randomBytes(16)];
    const derive = globalThis.proof.byHand({ nonce: nonce.toString("hex"), salt: salt.toString("hex"), cost, keyLength: 32 });
    for (const counter of [0, 1, 255, 256, 65536, 2 ** 31, 2 ** 32 - 1]) {
      const bytes = Buffer.alloc(4);
      bytes.writeUInt32BE(counter);
      const want = pbkdf2Sync(Buffer.concat([nonce, bytes]), salt, cost, 32, "sha256").toString("hex");
      assert.equal(derive(counter), want, `${cost} rounds of ${counter}`);
    }
  }
});

test("an operator asks newcomers for work, and stops again", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  const card = page.locator("section:has(#challenge-title)");
  await card.getByRole("radio", { name: /작업 증명/ }).check();
  await page.locator("#challenge-difficulty").fill("99");
  await card.getByRole("button", { name: "적용" }).click();
  await page.locator("#challenge-difficulty-problem").filter({ hasText: "100에서" }).waitFor();
  await page.locator("#challenge-difficulty").fill("20000");
  await card.getByRole("button", { name: "적용" }).click();
  await said(page, "작업 증명");
  const { challenge, challenge_difficulty } = await room.definition();
  assert.deepEqual([challenge, challenge_difficulty], ["proof_of_work", 20000]);
  await until("it is in the trail", room.trail, ([entry]) => entry.after?.challenge === "proof_of_work");
  assert.deepEqual(await violations(page, GRAVE), []);
  await card.getByRole("radio", { name: /없음/ }).check();
  await card.getByRole("button", { name: "적용" }).click();
  await until("it is off", room.definition, (now) => now.challenge === "off");
});
