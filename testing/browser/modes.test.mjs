// The operator's card of a room's mode: what is chosen there, and what visitors of the protected site get then.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shot, until, untilMode, useBrowser } from "./browser.mjs";
import { admin } from "./jari.mjs";
import { done, enter, goIn, isRoomPage, person, protectedSite, ROOM, stillWaits, WANTED } from "./landing.mjs";
import { button, confirm, inRoom, PHONE, said } from "./operator.mjs";
import { GRAVE, violations } from "./violations.mjs";

useBrowser();

const card = (page) => page.locator("section[aria-labelledby=mode-title]");
const now = (page) => card(page).locator("[data-of=mode]");
// Every stream tells the exact place each 20 s or so, and with it that nobody is held up.
const TAKEN_ON_MS = 45000;
// In the card's order.
const MODES = ["on", "auto", "shadow", "off"];
const option = (page, mode) => card(page).locator("input[name=mode]").nth(MODES.indexOf(mode));
const choose = (page, mode) => option(page, mode).check();
const apply = (page) => card(page).locator("button.primary").click();

// Chooses a mode on the card. Whatever lets everybody pass is asked twice.
async function switchTo({ page }, mode, words) {
  await choose(page, mode);
  await apply(page);
  if (mode === "off" || mode === "shadow") await confirm(page);
  await said(page, `운영 방식: ${words}`);
}

// A fresh person's first request to a guarded page, once the mode is at the gate: where it ended, and what the site was told.
async function arrives(stage, who) {
  const visitor = await person(who);
  await visitor.page.goto(stage.entrance + WANTED);
  const told = stage.site.seen.filter((at) => at.who === who && at.target === WANTED).at(-1)?.headers;
  return { ...visitor, told, atRoom: isRoomPage(visitor.page.url()) };
}

test("issue_5: each mode of the card is what visitors get, and the trail has it", async () => {
  const stage = await protectedSite({ capacity: 0 });
  const operator = await inRoom(ROOM, {}, stage.server);
  const early = await arrives(stage, "early");
  // Back at the door while people queue: the same place, at the front.
  const comesBack = async () => {
    await early.page.goto(stage.entrance + WANTED);
    await stillWaits(early);
  };
  // Taken on to the page that they wanted, without a hand's turn; the site is told why.
  const isTakenOn = async (why) => {
    await early.page.waitForURL(stage.entrance + WANTED, { timeout: TAKEN_ON_MS });
    const [last] = stage.site.seen.filter((at) => at.who === "early" && at.target === WANTED).slice(-1);
    assert.equal(last.headers["jari-unchecked"], why);
  };
  await stillWaits(early);

  await switchTo(operator, "shadow", "관찰만");
  await isTakenOn("shadow");
  const shadowed = await arrives(stage, "shadowed");
  assert.deepEqual([shadowed.atRoom, shadowed.told?.["jari-unchecked"]], [false, "shadow"]);
  await until("the line counts who would have waited", stage.stats, ({ waiting }) => waiting === 2);

  await switchTo(operator, "on", "항상 줄 세우기");
  await comesBack();
  assert.equal((await arrives(stage, "other")).atRoom, true);

  // An auto room lets nobody overtake: a newcomer waits behind those in line.
  await switchTo(operator, "auto", "자동");
  assert.equal((await arrives(stage, "behind")).atRoom, true);
  await stillWaits(early);

  await switchTo(operator, "off", "끄기");
  await isTakenOn("off");
  const free = await arrives(stage, "free");
  assert.deepEqual([free.atRoom, free.told?.["jari-unchecked"], free.told?.["jari-seq"]], [false, "off", undefined]);

  await switchTo(operator, "on", "항상 줄 세우기");
  await comesBack();
  const { entries } = await admin("GET", `audit?target=room:${ROOM}`, undefined, stage.server);
  const modes = entries.filter((entry) => entry.action === "room.change").map((entry) => entry.after.settings?.mode);
  assert.deepEqual(modes.filter(Boolean).slice(0, 5), ["on", "off", "auto", "on", "shadow"]);
  assert.deepEqual(operator.complaints, []);
});

test("issue_5: an auto room queues once it is full, says so, and is quiet again by itself", async () => {
  const stage = await protectedSite({ capacity: 2 });
  const operator = await inRoom(ROOM, {}, stage.server);
  const { page } = operator;
  await choose(page, "auto");
  await page.locator("#queue-live").fill("1");
  await page.locator("#queue-arrivals").fill("1000");
  await page.locator("#queue-quiet").fill("5");
  assert.deepEqual(await violations(page, GRAVE), []);
  await apply(page);
  await said(page, "운영 방식: 자동");
  await now(page).filter({ hasText: "바로 들어가고 있습니다" }).waitFor();

  const first = await arrives(stage, "first");
  assert.equal(first.atRoom, false, "walks in");
  assert.equal(first.told?.["jari-room"], ROOM);
  await now(page).filter({ hasText: "줄을 세우고 있습니다: 이용 중인 인원이 많음" }).waitFor();
  await shot(page, "mode-queueing-ko");

  // From the threshold on people queue, and go in by order while there is room.
  const second = await arrives(stage, "second");
  assert.equal(second.atRoom, true, "queues");
  await enter(second.page, stage.entrance, WANTED);
  const third = await arrives(stage, "third");
  await stillWaits(third);
  await done(second);
  await enter(third.page, stage.entrance, WANTED);

  await done(first);
  await done(third);
  await now(page).filter({ hasText: "바로 들어가고 있습니다" }).waitFor({ timeout: 30000 });
  await goIn(await person("later"), stage.entrance, "/tickets/9");
  assert.equal((await stage.stats()).waiting, 0);
  assert.deepEqual(operator.complaints, []);
});

test("issue_5: who waits in an auto room that gets quiet lands on the page that they wanted", async () => {
  const stage = await protectedSite({ capacity: 1, mode: "auto", quiet_for_ms: 5000 });
  const first = await arrives(stage, "first");
  assert.equal(first.atRoom, false);
  const second = await arrives(stage, "second");
  await stillWaits(second);
  await done(first);
  await untilMode(second.page, "admitted");
  // By itself: nobody touches the page.
  await second.page.waitForURL(stage.entrance + WANTED, { timeout: 20000 });
  assert.deepEqual(stage.site.guardedBy("second"), [`GET ${WANTED}`]);
});

test("issue_5: a room's page that is opened while the room is off takes its visitor on", async () => {
  const stage = await protectedSite({ mode: "off" });
  const visitor = await person("late");
  await visitor.page.goto(`${stage.entrance}/.jari/rooms/${ROOM}?return=${encodeURIComponent(WANTED)}`);
  await visitor.page.waitForURL(stage.entrance + WANTED);
  assert.equal((await stage.stats()).joined_total, 0, "nobody needs a place");
});

test("issue_5: the card refuses what the server would, asks before it lets everybody pass, and fits a phone", async () => {
  const stage = await protectedSite();
  const { page } = await inRoom(ROOM, { ...PHONE, locale: "en-US" }, stage.server);
  const mode = async () => (await admin("GET", `rooms/${ROOM}`, undefined, stage.server)).settings.mode;
  await choose(page, "auto");
  await page.locator("#queue-quiet").fill("1");
  await apply(page);
  await page.locator("#queue-quiet-problem").waitFor();
  assert.equal(await mode(), "on", "one wrong field changes nothing");
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} px too wide`);
  await card(page).scrollIntoViewIfNeeded();
  await shot(page, "mode-phone-en");
  for (const wanted of ["off", "shadow"]) {
    await choose(page, wanted);
    await apply(page);
    await page.locator("dialog[open] button[value=no]").click();
    assert.equal(await mode(), "on", "who says no changes nothing");
  }
  await card(page).getByRole("button", { name: "Undo" }).click();
  assert.ok(await option(page, "on").isChecked());
  assert.ok(await button(page, "Apply").first().isVisible());
});
