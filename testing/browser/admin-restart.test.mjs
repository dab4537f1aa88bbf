// The operator's page through a restart of the server, and during a whole sale. Needs the program itself.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shot, until, useBrowser } from "./browser.mjs";
import { admin } from "./jari.mjs";
import { inRoom, newOperator, number, PHONE, signIn, untilLive } from "./operator.mjs";
import { ownDemo, ownServer } from "./program.mjs";

useBrowser();

const ROOM = { title: { ko: "뮤지컬 예매", en: "Musical tickets" }, identity: "anonymous", target_url: "/" };

test("after a restart the page reconnects by itself and says so", async () => {
  const server = await ownServer();
  await admin("POST", "rooms", { room: "musical", ...ROOM }, server);
  const { page, complaints } = await inRoom("musical", {}, server);
  const link = page.locator("[data-connection]");
  await page.locator("#capacity").fill("321");
  await server.stop();
  await until("it says that it is cut off", () => link.getAttribute("data-connection"), (now) => now === "lost");
  assert.match(await link.textContent(), /다시 연결하고 있습니다/);
  await server.startAgain();
  await untilLive(page);
  await link.filter({ hasText: "서버가 다시 시작되어 재연결했습니다" }).waitFor();
  await admin("POST", "rooms/musical/pause", {}, server);
  await page.locator(".room-head .badge").filter({ hasText: "일시 중지" }).waitFor();
  assert.equal(await page.locator("#capacity").inputValue(), "321", "what was typed is still there");
  const own = complaints.filter((text) => !/ERR_|Failed to load/.test(text));
  assert.deepEqual(own, [], "nothing of the page itself broke");
});

// Also the pictures of the documentation.
test("a sale at a glance", async () => {
  const demo = await ownDemo(["--crowd", "1200", "--rate", "20", "--capacity", "300", "--opens-in", "4"]);
  const server = { url: new URL(demo.url).origin, key: demo.key };
  await admin("PUT", "groups/checkout", { capacity: 500, rate_per_s: 30, burst: 30 }, server);
  await admin("PATCH", "rooms/demo", { group: "checkout" }, server);
  const make = (room, more) => admin("POST", "rooms", { room, ...ROOM, ...more }, server);
  await make("musical", { group: "checkout", settings: { capacity: 200, rate_per_s: 10, burst: 10 } });
  const opens_at = new Date(Date.now() + 3600000).toISOString();
  await make("fan-meeting", { title: { ko: "팬미팅 예매", en: "Fan meeting" }, settings: { opens_at } });

  const operator = await inRoom("demo", { viewport: { width: 1360, height: 900 } }, server);
  const { page } = operator;
  const figure = (name) => page.locator(`.watch [data-of=${name}]`);
  await until("people are let in", () => number(figure("admitted")), (n) => n >= 250, 60000);
  await admin("PATCH", "rooms/demo", { settings: { rate_per_s: 25, burst: 25 } }, server);
  await admin("POST", "rooms/demo/announce", { text: "A구역은 남은 좌석이 적습니다." }, server);
  await until("and many more", () => number(figure("admitted")), (n) => n >= 500, 60000);
  assert.ok((await number(figure("waiting"))) > 0, "the sale is still on");
  await pictures(server, page);
  assert.deepEqual(operator.complaints, []);
});

async function pictures(server, page) {
  await shot(page, "admin-room-ko");
  await page.evaluate(() => (location.hash = "#/"));
  await page.locator("[data-room=demo]").waitFor();
  await shot(page, "admin-overview-ko");
  for (const [name, options] of [
    ["dark-en", { locale: "en-US", colorScheme: "dark", viewport: { width: 1360, height: 900 } }],
    ["phone-ko", PHONE],
    ["phone-en", { ...PHONE, locale: "en-US" }],
  ]) {
    const operator = await newOperator(options, server);
    await signIn(operator);
    await untilLive(operator.page);
    await operator.page.locator("[data-room=demo]").waitFor();
    await shot(operator.page, `admin-overview-${name}`);
    await operator.page.evaluate(() => (location.hash = "#/rooms/demo"));
    await operator.page.locator(".entry").first().waitFor();
    await operator.page.locator(".u-wrap").first().waitFor();
    await shot(operator.page, `admin-room-${name}`);
  }
}
