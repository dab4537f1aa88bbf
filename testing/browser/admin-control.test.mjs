// Each control of the operator's page does what it says, in the line and in the trail; everybody at it sees it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, useBrowser } from "./browser.mjs";
import { admin, ADMIN_KEY, JARI_URL, newRoom } from "./jari.mjs";
import { button, confirm, inRoom, number, said } from "./operator.mjs";

useBrowser();

const state = (room) => async () => (await room.stats()).state;
const field = (page, name) => page.locator(`#${name}`);

// The newest entry of the room's trail, in the API and on the page.
async function trailed(page, room, action) {
  const [newest] = await until(`${action} is in the trail`, room.trail, ([entry]) => entry.action === action);
  await until("and on the page", () => page.locator(".entry").first().getAttribute("data-action"), (now) => now === action);
  return newest;
}

test("pausing and going on", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  await button(page, "일시 중지").click();
  await said(page, "입장을 일시 중지했습니다.");
  assert.equal(await state(room)(), "paused");
  await trailed(page, room, "room.pause");
  await button(page, "입장 재개").click();
  await said(page, "입장을 재개했습니다.");
  assert.equal(await state(room)(), "open");
  await trailed(page, room, "room.resume");
});

test("closing with words and a time to open again, and opening", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  await button(page, "닫기…").click();
  await field(page, "close-message").fill("오늘 예매를 마쳤습니다.");
  await field(page, "close-reopens").fill("2099-01-02T20:00");
  const ask = async () => {
    await page.locator(".inset button.danger").click();
    await page.locator("dialog[open]").waitFor();
  };
  await ask();
  await page.keyboard.press("Escape");
  assert.equal(await state(room)(), "open", "who says no closes nothing");
  await ask();
  await confirm(page);
  await said(page, "대기실을 닫았습니다.");
  const entry = await trailed(page, room, "room.close");
  assert.deepEqual(entry.after, { message: "오늘 예매를 마쳤습니다.", reopens_at: "2099-01-02T11:00:00.000Z" }, "the operator's own time zone");
  assert.equal(await state(room)(), "closed");
  await page.getByText("오늘 예매를 마쳤습니다.").first().waitFor();
  await button(page, "열기").click();
  await said(page, "대기실을 열었습니다.");
  assert.equal(await state(room)(), "open");
});

test("a room that is not open yet is opened after a question only", async () => {
  const room = await newRoom({ opens_at: new Date(Date.now() + 3600000).toISOString() });
  const { page } = await inRoom(room.room);
  await button(page, "열기").click();
  await page.locator("dialog[open] button[value=no]").click();
  assert.equal(await state(room)(), "not_open");
  await button(page, "열기").click();
  await confirm(page);
  await said(page, "대기실을 열었습니다.");
  assert.equal(await state(room)(), "open");
});

test("sold out, and not", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  await button(page, "매진 처리…").click();
  await confirm(page);
  await said(page, "매진으로 바꿨습니다.");
  assert.equal(await state(room)(), "sold_out");
  await button(page, "매진 취소").click();
  await said(page, "매진을 취소했습니다.");
  assert.equal(await state(room)(), "open");
});

test("rate, capacity, burst and pacer; what is out of bounds is said at its field", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  const apply = page.locator(".steer section").first().getByRole("button", { name: "적용" });
  assert.ok(await apply.isDisabled(), "nothing was changed yet");
  await field(page, "rate_per_s").fill("12.5");
  await field(page, "capacity").fill("400");
  await field(page, "burst").fill("25");
  await field(page, "per_tick").fill("500");
  await apply.click();
  await page.locator("#per_tick-problem").filter({ hasText: "1에서 200 사이" }).waitFor();
  await until("the wrong field has the focus", () => page.evaluate(() => document.activeElement.id), (id) => id === "per_tick");
  await page.locator(".toast.bad").waitFor();
  assert.equal((await room.definition()).settings.capacity, 0, "one wrong field changes nothing");
  await field(page, "per_tick").fill("100");
  await apply.click();
  await said(page, "적용했습니다: 초당 12.5명, 정원 400명");
  let { settings } = await room.definition();
  assert.deepEqual([settings.rate_per_s, settings.capacity, settings.burst, settings.per_tick], [12.5, 400, 25, 100]);
  const entry = await trailed(page, room, "room.change");
  assert.equal(entry.after.settings.rate_per_s, 12.5);
  const shown = page.locator(".entry").first();
  assert.match(await shown.locator(".changes").textContent(), /초당 입장 속도.*1.*→.*12\.5/);
  assert.match(await shown.textContent(), /\(나\)/);

  await page.getByRole("radio", { name: /자동 조절/ }).check();
  await field(page, "pacer-ceiling").fill("3");
  await apply.click();
  await page.locator("#pacer-ceiling-problem").filter({ hasText: "5 이상" }).waitFor();
  await field(page, "pacer-ceiling").fill("80");
  await apply.click();
  await until("the pacer", room.definition, ({ settings }) => settings.pacer.kind === "aimd");
  ({ settings } = await room.definition());
  assert.deepEqual(settings.pacer, { kind: "aimd", start: 50, increase: 5, floor: 5, ceiling: 80, threshold: 100 });
  await page.getByRole("radio", { name: /수동/ }).check();
  await apply.click();
  await until("the pacer", room.definition, ({ settings }) => settings.pacer.kind === "manual");
});

test("a rate of nothing is asked twice; the dial makes quick steps; a rate above the burst is pointed out", async () => {
  const room = await newRoom({ capacity: 100, rate_per_s: 20, burst: 20 });
  const { page } = await inRoom(room.room);
  const apply = page.locator(".steer section").first().getByRole("button", { name: "적용" });
  await button(page, "½").click();
  assert.equal(await field(page, "rate_per_s").inputValue(), "10");
  await field(page, "rate_per_s").fill("30");
  await page.locator(".hint").filter({ hasText: "초당 20명까지만" }).waitFor();
  await button(page, "한도를 속도에 맞추기").click();
  await apply.click();
  await until("the burst follows", room.definition, ({ settings }) => settings.burst === 30 && settings.rate_per_s === 30);
  await field(page, "rate_per_s").fill("0");
  await apply.click();
  await page.locator("dialog[open]").waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await room.definition()).settings.rate_per_s, 30);
  await apply.click();
  await confirm(page);
  await until("the brake", room.definition, ({ settings }) => settings.rate_per_s === 0);
});

test("a notice reaches the line and is taken back; one that is too long is not sent", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  const notice = async () => (await (await fetch(`${JARI_URL}/v1/rooms/${room.room}`)).json()).line.notice?.text;
  await field(page, "announce").fill("가".repeat(334));
  assert.ok(await button(page, "안내하기").isDisabled(), "1,002 bytes");
  await field(page, "announce").fill("결제 점검 중입니다. Payments are being checked.");
  await button(page, "안내하기").click();
  await said(page, "안내 말씀을 내보냈습니다.");
  await until("visitors are told", notice, (text) => text?.startsWith("결제 점검"));
  await trailed(page, room, "room.announce");
  await button(page, "내리기").click();
  await said(page, "안내 말씀을 내렸습니다.");
  await until("and no more", notice, (text) => text === undefined);
});

test("admitting by count", async () => {
  const room = await newRoom({ capacity: 100, rate_per_s: 0, pacer: { kind: "manual" } });
  await room.crowd(8);
  const { page } = await inRoom(room.room);
  await field(page, "admit-count").fill("201");
  await button(page, "입장시키기").click();
  await page.locator("#admit-count-problem").waitFor();
  await field(page, "admit-count").fill("5");
  await button(page, "입장시키기").click();
  await said(page, "5명을 입장시켰습니다.");
  assert.equal((await room.stats()).live, 5);
  await trailed(page, room, "room.admit");
  await until("it is shown", () => number(page.locator(".watch [data-of=waiting]")), (n) => n === 3);
});

test("single people: admit, revoke, allow, block and their opposites", async () => {
  const room = await newRoom({ capacity: 0 }, { identity: "entry" });
  const join = async (subject) => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
    const at = `${JARI_URL}/v1/rooms/${room.room}`;
    const entry = await (await fetch(`${at}/entries`, { method: "POST", headers, body: JSON.stringify({ subject }) })).json();
    const body = JSON.stringify({ entry: entry.entry_token });
    const place = await fetch(`${at}/places`, { method: "POST", headers: { "content-type": "application/json" }, body });
    const told = await place.json();
    return told.status === 403 ? told.code : told.status;
  };
  await join("kim");
  const { page } = await inRoom(room.room);
  const act = async (what, who, asked = false) => {
    await field(page, "subjects").fill(who);
    await field(page, "act").selectOption(what);
    await page.locator(".steer section:has(#subjects) button.primary, .steer section:has(#subjects) button.danger").click();
    if (asked) await confirm(page);
    await until("the form is ready", () => field(page, "subjects").inputValue(), (text) => text === "");
    await trailed(page, room, `room.${what}`);
  };
  await act("admit", "kim");
  await said(page, "1명 중 1명에게 입장권을 주었습니다.");
  assert.equal((await room.stats()).live, 1);
  await act("revoke", "kim", true);
  await said(page, "입장권을 회수했습니다.");
  assert.equal((await room.stats()).live, 0);
  await act("allow", "press-1\npress-2");
  assert.equal(await join("press-1"), "admitted");
  await act("disallow", "press-2");
  assert.equal(await join("press-2"), "waiting");
  await act("block", "mallory", true);
  assert.equal(await join("mallory"), "blocked");
  await act("unblock", "mallory");
  assert.equal(await join("mallory"), "waiting");
  await act("unblock", "mallory");
  await said(page, "바뀐 것이 없습니다.");
  await field(page, "subjects").fill("x".repeat(257));
  await page.locator(".steer section:has(#subjects) button.primary").click();
  await page.locator("#subjects-problem").waitFor();
});

test("two operators see each other's change, and neither undoes the other's", async () => {
  const room = await newRoom({ capacity: 100, rate_per_s: 5, burst: 5 });
  const [one, two] = [await inRoom(room.room), await inRoom(room.room, { locale: "en-US" })];
  await button(one.page, "일시 중지").click();
  await two.page.locator(".room-head .badge").filter({ hasText: "Paused" }).waitFor();
  await until("the trail as well", () => two.page.locator(".entry").first().getAttribute("data-action"), (now) => now === "room.pause");

  await field(two.page, "capacity").fill("250");
  await field(one.page, "rate_per_s").fill("9");
  await one.page.locator(".steer section").first().getByRole("button", { name: "적용" }).click();
  await said(one.page, "적용했습니다");
  await until("what was left alone follows", () => field(two.page, "rate_per_s").inputValue(), (value) => value === "9");
  assert.equal(await field(two.page, "capacity").inputValue(), "250", "who types is not disturbed");
  await two.page.locator(".steer section").first().getByRole("button", { name: "Apply" }).click();
  await until("the capacity", room.definition, ({ settings }) => settings.capacity === 250);
  assert.equal((await room.definition()).settings.rate_per_s, 9, "only what was changed was sent");
  await until("the first sees it", () => field(one.page, "capacity").inputValue(), (value) => value === "250");
});

test("a change that meets another's is refused and says so", async () => {
  const room = await newRoom({ capacity: 100 });
  const { page } = await inRoom(room.room);
  await field(page, "capacity").fill("120");
  // Between the page's last look and its own change.
  await page.route(`**/v1/admin/rooms/${room.room}`, async (route) => {
    if (route.request().method() === "PATCH") await admin("PATCH", `rooms/${room.room}`, { settings: { capacity: 90 } });
    await route.continue();
  });
  await page.locator(".steer section").first().getByRole("button", { name: "적용" }).click();
  await page.locator(".toast.bad").filter({ hasText: "다른 운영자가 설정을 바꿨습니다" }).waitFor();
  assert.equal((await room.definition()).settings.capacity, 90);
  assert.equal(await field(page, "capacity").inputValue(), "120", "what was typed is kept");
  await page.unroute(`**/v1/admin/rooms/${room.room}`);
  await page.locator(".steer section").first().getByRole("button", { name: "적용" }).click();
  await until("it is applied now", room.definition, ({ settings }) => settings.capacity === 120);
});

test("everything can be done by keyboard alone", async () => {
  const room = await newRoom();
  const { page } = await inRoom(room.room);
  await button(page, "닫기…").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.type("끝났습니다.");
  await page.locator(".inset button.danger").focus();
  await page.keyboard.press("Enter");
  await page.locator("dialog[open]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.value), "no", "the harmless answer has the focus");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("it is closed", room.stats, ({ state }) => state === "closed");
  assert.equal((await room.trail())[0].after.message, "끝났습니다.");
});
