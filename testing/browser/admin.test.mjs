// The operator's page: who gets in, what it shows, and that everybody can use it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { closeLater, until, useBrowser } from "./browser.mjs";
import { admin, ADMIN_KEY, JARI_URL, newRoom } from "./jari.mjs";
import { inRoom, newOperator, number, PHONE, signIn, untilLive } from "./operator.mjs";
import { hangingProxy } from "./proxy.mjs";
import { violations } from "./violations.mjs";

useBrowser();

const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

test("a wrong key, a tenant's key and no key are told apart; a good one gets in; signing out forgets it", async () => {
  const operator = await newOperator();
  const { page, complaints } = operator;
  const problem = page.locator("#key-problem");
  assert.equal(await page.evaluate(() => document.activeElement.id), "key");
  await signIn(operator, "");
  assert.equal(await problem.textContent(), "API 키를 입력해 주십시오.");
  for (const wrong of ["jari_000000000000_00", "자리", `${ADMIN_KEY}0`]) {
    await signIn(operator, wrong);
    await problem.filter({ hasText: "틀렸거나 폐기되었습니다" }).waitFor();
    await page.locator("#key[aria-invalid=true]").waitFor();
  }
  const { key } = await admin("POST", "keys", { scope: "tenant", name: "a site" });
  await signIn(operator, key);
  await problem.filter({ hasText: "관리자 권한이 없습니다" }).waitFor();
  await signIn(operator);
  await untilLive(page);
  assert.ok(!page.url().includes("jari_"), "the key is never in the address");
  assert.deepEqual(await operator.context.cookies(), []);
  await page.reload();
  await untilLive(page);
  await page.getByRole("button", { name: "로그아웃" }).click();
  await page.locator("#key").waitFor();
  assert.equal(await page.evaluate(() => JSON.stringify(sessionStorage)), "{}");
  await page.reload();
  await page.locator("#key").waitFor();
  // The browser itself logs refused calls; the page adds nothing to that.
  assert.deepEqual(complaints.filter((text) => !text.includes("status of 40")), []);
});

test("a key that is revoked ends the session and says so", async () => {
  const { id, key } = await admin("POST", "keys", { scope: "admin", name: "for a day" });
  const operator = await newOperator();
  await signIn(operator, key);
  await untilLive(operator.page);
  await admin("DELETE", `keys/${id}`);
  await operator.page.locator("#key-problem").filter({ hasText: "로그인이 종료되었습니다" }).waitFor();
});

test("the page is served under a strict policy, its files for good", async () => {
  const index = await fetch(`${JARI_URL}/admin`);
  assert.match(index.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
  assert.equal(index.headers.get("cache-control"), "no-cache");
  const script = /src="(\/admin\/assets\/[^"]+\.js)"/.exec(await index.text())[1];
  const asset = await fetch(JARI_URL + script);
  assert.match(asset.headers.get("cache-control"), /immutable/);
});

test("numbers move while the page is open, in the list and in the room", async () => {
  const room = await newRoom();
  await room.crowd(7);
  const operator = await newOperator();
  await signIn(operator);
  const card = operator.page.locator(`[data-room="${room.room}"]`);
  const waiting = () => number(card.locator("[data-of=waiting]"));
  await until("seven wait", waiting, (n) => n === 7);
  await room.crowd(5);
  await until("twelve wait", waiting, (n) => n === 12);
  await card.getByRole("link").first().click();
  await operator.page.getByRole("heading", { level: 1, name: "가을 음악회 예매" }).waitFor();
  assert.equal(await operator.page.evaluate(() => document.activeElement.id), "main", "the focus follows");
  await room.move(50);
  const admitted = operator.page.locator(".watch [data-of=admitted]");
  await until("all are admitted", () => number(admitted), (n) => n === 12);
  // The chart as text: the minute's sums hold them too.
  await operator.page.getByRole("button", { name: "표로 보기" }).click();
  const cells = operator.page.locator(".watch tbody tr td:nth-of-type(3)");
  const sum = async () => (await cells.allTextContents()).reduce((all, cell) => all + Number(cell), 0);
  await until("the table counts them", sum, (n) => n === 12);
});

test("the past is there when the page opens", async () => {
  const room = await newRoom({ capacity: 5000, rate_per_s: 50, burst: 50 });
  await room.crowd(9);
  await until("all are admitted", room.stats, ({ admitted_total }) => admitted_total === 9);
  await room.act("pause");
  const { page } = await inRoom(room.room);
  await page.getByRole("button", { name: "표로 보기" }).click();
  const cells = page.locator(".watch tbody tr td:nth-of-type(3)");
  const sum = async () => (await cells.allTextContents()).reduce((all, cell) => all + Number(cell), 0);
  await until("those admitted before it opened are in the table", sum, (n) => n === 9);
});

test("refusals are told by reason, and alarms name the room", async () => {
  const room = await newRoom({ rate_per_s: 0 });
  await room.crowd(3);
  const { page } = await inRoom(room.room);
  await page.locator(`[data-alarm="${room.room}:brake"]`).filter({ hasText: "속도가 0" }).waitFor();
  await page.locator("[role=alert]").filter({ hasText: "속도가 0" }).first().waitFor({ state: "attached" });
  await room.act("close");
  for (let n = 0; n < 4; n += 1) {
    const visitor = await fetch(`${JARI_URL}/v1/visitors`, { method: "POST" });
    const cookie = visitor.headers.getSetCookie()[0].split(";")[0];
    const refused = await fetch(`${JARI_URL}/v1/rooms/${room.room}/places`, { method: "POST", headers: { cookie } });
    assert.equal(refused.status, 410);
  }
  await page.getByRole("row", { name: "대기실이 닫힘 4" }).waitFor();
});

test("a mass absence alarms, in the list and by voice", async () => {
  const room = await newRoom({ rate_per_s: 0, presence_window_ms: 10000 });
  await room.crowd(120);
  const { page } = await inRoom(room.room, { locale: "en-US" });
  // Nobody of them asks again: after two windows all are silent.
  await page.waitForTimeout(21000);
  await room.move(200);
  const alarm = page.locator(`[data-alarm="${room.room}:absence"]`);
  await alarm.filter({ hasText: "most of those next in turn were not heard from" }).waitFor();
  await page.locator("[role=alert]").filter({ hasText: "not heard from" }).first().waitFor({ state: "attached" });
  await page.locator(".room-head .badge").filter({ hasText: "Lull" }).waitFor();
});

test("limit groups show their members and sums, and their limits can be changed", async () => {
  const group = `g${Date.now()}`;
  await admin("PUT", `groups/${group}`, { capacity: 90, rate_per_s: 5, burst: 5 });
  const [one, two] = [await newRoom({}, { group }), await newRoom({}, { group })];
  await Promise.all([one.crowd(3), two.crowd(4)]);
  const operator = await newOperator();
  const { page } = operator;
  await signIn(operator);
  const card = page.locator("section:has(#groups-title) li").filter({ hasText: group });
  await until("the sum", () => card.locator(".figure dd").first().textContent(), (text) => text === "7");
  assert.equal(await card.getByRole("row").count(), 3);
  await card.getByRole("button", { name: "한도 변경" }).click();
  await card.locator(`#${group}-burst`).fill("0");
  await card.getByRole("button", { name: "적용" }).click();
  await card.locator(`#${group}-burst-problem`).filter({ hasText: "1에서" }).waitFor();
  await card.locator(`#${group}-burst`).fill("8");
  await card.locator(`#${group}-capacity`).fill("70");
  await card.getByRole("button", { name: "적용" }).click();
  await page.locator(".toast.good").filter({ hasText: group }).waitFor();
  const limits = await admin("GET", `groups/${group}`);
  assert.deepEqual([limits.capacity, limits.burst, limits.rate_per_s], [70, 8, 5]);
  await until("it is shown", () => card.locator(".meter-text").textContent(), (text) => text.includes("70"));
});

for (const [name, locale, words] of [["ko", "ko-KR", "속도와 정원"], ["en", "en-US", "Speed and size"]]) {
  for (const colorScheme of ["light", "dark"]) {
    test(`no view has an accessibility violation, ${name}, ${colorScheme}`, async () => {
      const room = await newRoom();
      await room.crowd(3);
      await room.act("announce", { text: "잠시만 기다려 주십시오." });
      const operator = await newOperator({ locale, colorScheme });
      const { page } = operator;
      assert.deepEqual(await violations(page), []);
      await signIn(operator);
      await untilLive(page);
      await page.locator(`[data-room="${room.room}"]`).waitFor();
      assert.deepEqual(await violations(page), []);
      await page.evaluate((id) => (location.hash = `#/rooms/${id}`), room.room);
      await page.getByRole("heading", { name: words }).waitFor();
      await page.locator(".u-wrap").first().waitFor();
      await page.locator(".entry").first().waitFor();
      assert.equal(await page.locator("html").getAttribute("lang"), name);
      assert.deepEqual(await violations(page), []);
      await page.evaluate(() => (location.hash = "#/audit"));
      await page.locator(".entry").first().waitFor();
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(operator.complaints, []);
    });
  }
}

test("the language can be switched and is remembered", async () => {
  const operator = await newOperator({ locale: "en-US" });
  const { page } = operator;
  await page.getByRole("heading", { name: "Operator sign-in" }).waitFor();
  await page.getByRole("button", { name: "한국어" }).click();
  await page.getByRole("heading", { name: "운영자 로그인" }).waitFor();
  await signIn(operator);
  await untilLive(page);
  await page.reload();
  await page.getByRole("button", { name: "로그아웃" }).waitFor();
});

for (const locale of ["ko-KR", "en-US"]) {
  test(`a phone of 360 px scrolls in one direction only, ${locale}`, async () => {
    const room = await newRoom();
    await room.crowd(2);
    const operator = await newOperator({ ...PHONE, locale });
    const { page } = operator;
    assert.ok((await overflow(page)) <= 0);
    await signIn(operator);
    await page.locator(`[data-room="${room.room}"]`).waitFor();
    assert.ok((await overflow(page)) <= 0);
    await page.evaluate((id) => (location.hash = `#/rooms/${id}`), room.room);
    await page.locator(".u-wrap").first().waitFor();
    await page.locator(".entry").first().waitFor();
    assert.ok((await overflow(page)) <= 0);
    await page.evaluate(() => (location.hash = "#/audit"));
    await page.locator(".entry").first().waitFor();
    assert.ok((await overflow(page)) <= 0);
  });
}

test("a stream that falls silent is noticed, dropped and opened anew", async () => {
  const room = await newRoom();
  const proxy = closeLater(await hangingProxy());
  const operator = await newOperator({}, { url: proxy.url, key: ADMIN_KEY });
  await signIn(operator);
  const waiting = operator.page.locator(`[data-room="${room.room}"] [data-of=waiting]`);
  await until("it is shown", () => number(waiting), (n) => n === 0);
  proxy.hangOpenConnections();
  await room.crowd(4);
  await operator.page.locator("[data-connection=lost]").waitFor({ timeout: 12000 });
  // Kept connections hang as well: they are met and given up one by one.
  await until("the numbers move again", () => number(waiting), (n) => n === 4, 30000);
});

test("a room that is not there says so", async () => {
  const operator = await newOperator();
  await signIn(operator);
  await untilLive(operator.page);
  await operator.page.evaluate(() => (location.hash = "#/rooms/nowhere"));
  await operator.page.getByRole("heading", { name: "대기실을 찾을 수 없습니다" }).waitFor();
});
