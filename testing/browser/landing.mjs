// Two people before a site whose room has one place inside: the first is in, the second waits, and lands where they wanted
// once the first is done. Knows not how Jari stands before the site.
import assert from "node:assert/strict";
import { closeLater, newVisitor, position, shot, until, untilMode } from "./browser.mjs";
import { admin } from "./jari.mjs";
import { PHONE } from "./operator.mjs";
import { ownProtected } from "./program.mjs";
import { staticSite } from "./site.mjs";

export const ROOM = "shop";
export const WANTED = "/tickets/42?x=1";

export const TITLE = { ko: "가을 음악회 예매", en: "Autumn concert tickets" };

const DESKTOP = { viewport: { width: 1280, height: 800 } };
// Each language on each kind of screen.
export const LOOKS = [
  { name: "ko-desktop", locale: "ko-KR", headline: "순서대로 입장을 안내하고 있습니다", ...DESKTOP },
  { name: "en-desktop", locale: "en-US", headline: "You are in line", ...DESKTOP },
  { name: "ko-phone", locale: "ko-KR", headline: "순서대로 입장을 안내하고 있습니다", ...PHONE },
  { name: "en-phone", locale: "en-US", headline: "You are in line", ...PHONE },
];

// `jari serve --protect` before a plain site, with one place inside.
export async function protectedSite(settings = { capacity: 1 }) {
  const site = closeLater(await staticSite(ROOM));
  const server = await ownProtected(site, { room: ROOM, path: "/tickets/*" });
  await admin("PATCH", `rooms/${ROOM}`, { title: TITLE, settings }, server);
  return { site, server, entrance: server.entrance, stats: () => admin("GET", `rooms/${ROOM}/stats`, undefined, server) };
}

// Somebody with a browser of their own, whom the site can tell from others by what the browser calls itself.
export async function person(who, options = {}) {
  const visitor = await newVisitor({ userAgent: `Mozilla/5.0 (X11; Linux) who=${who}`, ...options });
  return { ...visitor, who, page: await visitor.context.newPage() };
}

export const isRoomPage = (url) => new URL(url).pathname === `/.jari/rooms/${ROOM}`;

// Goes to a guarded page by way of the room, where it is in between.
export async function goIn({ page }, entrance, target) {
  await page.goto(entrance + target);
  if (isRoomPage(page.url())) await enter(page, entrance, target);
  assert.equal(await page.locator("#here").textContent(), target);
}

// From the room's page on.
export async function enter(page, entrance, target) {
  await untilMode(page, "admitted");
  await page.locator("#enter").click();
  await page.waitForURL(entrance + target);
}

// Gives the pass back by the site's own button.
export async function done({ page }) {
  await page.locator("#done").click();
  await until("the pass is given back", () => page.evaluate(() => document.body.dataset.done), (status) => status === "204");
}

// The first inside, the second on the room's page for `WANTED`.
export async function oneInsideOneWaiting({ entrance }, options = {}) {
  const first = await person("first", options);
  await goIn(first, entrance, "/tickets/1");
  const second = await person("second", options);
  await second.page.goto(entrance + WANTED);
  await stillWaits(second);
  return { first, second };
}

export async function stillWaits({ page }) {
  assert.ok(isRoomPage(page.url()), page.url());
  await untilMode(page, "waiting");
  assert.equal(await position(page), 1);
}

// The first is done, the second lands, and the site has seen them for the first time.
export async function theSecondLands({ site, entrance }, first, second) {
  assert.deepEqual(site.guardedBy("second"), [], "before the admission");
  await done(first);
  await enter(second.page, entrance, WANTED);
  assert.equal(await second.page.locator("#here").textContent(), WANTED);
  assert.deepEqual(site.guardedBy("second"), [`GET ${WANTED}`], "and once after it");
}

// The whole story, with pictures of it.
export async function theNextOneWaitsAndLands(stage, { name, headline, ...options }, pictures) {
  const { first, second } = await oneInsideOneWaiting(stage, options);
  const { page } = second;
  assert.equal(await page.locator("#headline").textContent(), headline);
  assert.deepEqual(stage.site.guardedBy("first"), ["GET /tickets/1"]);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(overflow <= 0, `${overflow} px too wide`);
  await shot(page, `${pictures}-waiting-${name}`);
  assert.deepEqual(stage.site.guardedBy("second"), [], "before the admission");
  await done(first);
  await untilMode(page, "admitted");
  await shot(page, `${pictures}-admitted-${name}`);
  await enter(page, stage.entrance, WANTED);
  assert.equal(await page.locator("#here").textContent(), WANTED);
  await shot(page, `${pictures}-landed-${name}`);
  assert.deepEqual(stage.site.guardedBy("second"), [`GET ${WANTED}`]);
  const [{ headers }] = stage.site.seen.filter((at) => at.target === WANTED);
  assert.equal(headers["jari-room"], ROOM);
  // Who was inside is at the end of the line with their next request.
  await first.page.goto(stage.entrance + WANTED);
  assert.ok(isRoomPage(first.page.url()), "a pass that was given back opens nothing");
  assert.deepEqual([first.complaints, second.complaints], [[], []]);
}
