// The operator's page where hands slip and where two operators meet: nothing is sent, asked or lost that was not meant.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, useBrowser } from "./browser.mjs";
import { admin, newRoom } from "./jari.mjs";
import { button, confirm, inRoom, newOperator, said, signIn, untilLive } from "./operator.mjs";

useBrowser();

const field = (page, name) => page.locator(`#${name}`);
const apply = (page, name = "적용") => page.locator(".steer section").first().getByRole("button", { name });
const dialog = (page) => page.locator("dialog[open]");

test("an empty number is a problem at its field and is not sent; a rate that rounds to nothing is asked about", async () => {
  const room = await newRoom({ capacity: 100, rate_per_s: 20, burst: 20 });
  const { page } = await inRoom(room.room);
  const sent = [];
  page.on("request", (request) => request.method() === "PATCH" && sent.push(request.url()));
  for (const name of ["capacity", "rate_per_s"]) {
    const before = await field(page, name).inputValue();
    await field(page, name).fill("");
    await apply(page).click();
    await page.locator(`#${name}-problem`).filter({ hasText: "숫자를 입력" }).waitFor();
    await field(page, name).fill(before);
  }
  assert.deepEqual(sent, []);
  await field(page, "rate_per_s").fill("0.0001");
  await apply(page).click();
  await dialog(page).filter({ hasText: room.room }).waitFor();
  await page.keyboard.press("Escape");
  await field(page, "rate_per_s").fill("20");
  await field(page, "capacity").fill("0");
  await apply(page).click();
  await dialog(page).filter({ hasText: "정원을 0으로" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.deepEqual(sent, []);
  await apply(page).click();
  await confirm(page);
  await until("who says yes means it", room.definition, ({ settings }) => settings.capacity === 0 && settings.rate_per_s === 20);
});

test("a question ends with its view and with its session, and does nothing", async () => {
  const [room, other] = [await newRoom(), await newRoom()];
  const operator = await inRoom(room.room);
  const { page } = operator;
  await button(page, "매진 처리…").click();
  await dialog(page).filter({ hasText: room.room }).waitFor();
  await page.evaluate((id) => (location.hash = `#/rooms/${id}`), other.room);
  await dialog(page).waitFor({ state: "detached" });
  await page.locator(".room-head").filter({ hasText: other.room }).waitFor();
  await button(page, "매진 처리…").click();
  await dialog(page).filter({ hasText: other.room }).waitFor();
  // As a revoked key does, under the open dialog.
  await page.evaluate(() => document.querySelector("header .tools button:last-child").click());
  await page.locator("#key").waitFor();
  await signIn(operator);
  await untilLive(page);
  assert.equal(await dialog(page).count(), 0);
  for (const { stats } of [room, other]) assert.equal((await stats()).state, "open");
});

test("what another sets in a field that is typed into is shown, and not overwritten before it was", async () => {
  const room = await newRoom({ capacity: 100, rate_per_s: 5, burst: 5 });
  const { page } = await inRoom(room.room);
  await field(page, "capacity").fill("250");
  await room.set({ capacity: 20 });
  await page.locator("#capacity-news").filter({ hasText: "20" }).waitFor();
  assert.equal(await field(page, "capacity").inputValue(), "250");
  await apply(page).click();
  await page.locator(".toast.bad").filter({ hasText: "다른 운영자가 설정을 바꿨습니다" }).waitFor();
  assert.equal((await room.definition()).settings.capacity, 20);
  await until("it can be applied again", () => apply(page).isEnabled(), Boolean);
  await apply(page).click();
  await until("now it is meant", room.definition, ({ settings }) => settings.capacity === 250);
  await page.locator("#capacity-news").waitFor({ state: "detached" });
});

test("the forms of the mode and of newcomers' work go on after another's change, too", async () => {
  const room = await newRoom({ mode: "auto", queue_at_live: 10 });
  const { page } = await inRoom(room.room);
  const button = (title) => page.locator(`section[aria-labelledby=${title}]`).getByRole("button", { name: "적용" });
  const clashes = async (title) => {
    const refused = page.waitForResponse((answer) => answer.status() === 412);
    await button(title).click();
    await refused;
    await until("it can be applied again", () => button(title).isEnabled(), Boolean);
  };
  await field(page, "queue-live").fill("25");
  await room.set({ queue_at_live: 7, quiet_for_ms: 90_000 });
  await page.locator("#queue-live-news").filter({ hasText: "7" }).waitFor();
  assert.equal(await field(page, "queue-quiet").inputValue(), "90", "what was left alone follows");
  await clashes("mode-title");
  assert.equal((await room.definition()).settings.queue_at_live, 7);
  await button("mode-title").click();
  await until("now it is meant", room.definition, ({ settings }) => settings.queue_at_live === 25 && settings.quiet_for_ms === 90_000);

  const work = page.locator("section[aria-labelledby=challenge-title]");
  await work.locator("input[value=proof_of_work]").check();
  await field(page, "challenge-difficulty").fill("2000");
  await admin("PATCH", `rooms/${room.room}`, { challenge_difficulty: 3000 });
  await page.locator("#challenge-difficulty-news").filter({ hasText: "3000" }).waitFor();
  await clashes("challenge-title");
  assert.equal((await room.definition()).challenge, "off");
  await button("challenge-title").click();
  await until("it is meant here too", room.definition, (told) => told.challenge === "proof_of_work" && told.challenge_difficulty === 2000);
});

test("a group's form sends no empty number, asks before it stops all, and goes on after another's change", async () => {
  const group = `g${Date.now()}`;
  await admin("PUT", `groups/${group}`, { capacity: 90, rate_per_s: 5, burst: 5 });
  await newRoom({}, { group });
  const operator = await newOperator();
  const { page } = operator;
  await signIn(operator);
  const card = page.locator("section:has(#groups-title) li").filter({ hasText: group });
  await card.getByRole("button", { name: "한도 변경" }).click();
  const limit = (name) => card.locator(`#${group}-${name}`);
  const send = () => card.getByRole("button", { name: "적용" }).click();
  const limits = () => admin("GET", `groups/${group}`);
  await limit("rate_per_s").fill("");
  await send();
  await card.locator(`#${group}-rate_per_s-problem`).filter({ hasText: "숫자를 입력" }).waitFor();
  await limit("rate_per_s").fill("0.0001");
  await send();
  await dialog(page).filter({ hasText: group }).waitFor();
  await page.keyboard.press("Escape");
  await limit("rate_per_s").fill("7");
  await limit("capacity").fill("80");
  await admin("PUT", `groups/${group}`, { capacity: 60, rate_per_s: 5, burst: 9 });
  await send();
  await page.locator(".toast.bad").filter({ hasText: "다른 운영자가 설정을 바꿨습니다" }).waitFor();
  await card.locator(`#${group}-capacity-news`).filter({ hasText: "60" }).waitFor();
  assert.equal((await limits()).capacity, 60);
  await send();
  await said(page, `${group} 그룹의 한도를 바꿨습니다.`);
  const { capacity, rate_per_s, burst } = await limits();
  assert.deepEqual([capacity, rate_per_s, burst], [80, 7, 9], "what was typed, and the other's burst");
});

test("a time to open again that cannot be sent is said at its field, before the question", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  await button(page, "닫기…").click();
  await field(page, "close-reopens").fill("12026-01-02T20:00");
  await page.locator(".inset button.danger").click();
  await page.locator("#close-reopens-problem").waitFor();
  assert.equal(await dialog(page).count(), 0);
  await field(page, "close-reopens").fill("2099-01-02T20:00");
  await page.locator(".inset button.danger").click();
  await confirm(page);
  await until("it is closed", room.stats, ({ state }) => state === "closed");
});

test("the trail has no hole after more changes than a page holds", async () => {
  const room = await newRoom();
  const turn = (n) => room.set({ burst: 1 + (n % 50) });
  for (let n = 1; n <= 25; n += 1) await turn(n);
  const { page } = await inRoom(room.room);
  const shown = () => page.locator(".entry").count();
  await until("a page", shown, (n) => n === 20);
  await button(page, "이전 기록 더 보기").click();
  await until("the whole trail", shown, (n) => n === 26);
  // All of them between two looks of the page.
  await page.route("**/v1/admin/audit?*", (route) => route.abort());
  for (let n = 26; n <= 70; n += 1) await turn(n);
  await page.unroute("**/v1/admin/audit?*");
  await turn(71);
  await until("every entry once", shown, (n) => n === 72);
});

test("what was typed survives another language", async () => {
  const room = await newRoom();
  const operator = await inRoom(room.room);
  const { page } = operator;
  await field(page, "capacity").fill("321");
  await field(page, "announce").fill("잠시만 기다려 주십시오.");
  await button(page, "English").click();
  await page.getByRole("heading", { name: "Speed and size" }).waitFor();
  assert.equal(await field(page, "capacity").inputValue(), "321");
  assert.equal(await field(page, "announce").inputValue(), "잠시만 기다려 주십시오.");
  assert.equal(await page.locator("html").getAttribute("lang"), "en");
  await page.getByText("people", { exact: true }).waitFor();
  assert.deepEqual(operator.complaints, []);
});
