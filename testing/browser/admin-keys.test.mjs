// A tenant's keys on the operator's page: shown once, replaced with an overlap, revoked and ended after a question.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shot, until, useBrowser } from "./browser.mjs";
import { admin, ADMIN_KEY, JARI_URL, newTenant, statusWith } from "./jari.mjs";
import { button, confirm, inTenant, said } from "./operator.mjs";

useBrowser();

const GOOD = 403; // A tenant's key that is good is told apart from one that is not: 401.
const dialog = (page) => page.locator("dialog[open]");
const entry = (page, id) => page.locator(`[data-key="${id}"]`);
const secretOf = (page) => page.locator("#secret-key").inputValue();
const keep = (page) => button(page, "보관했습니다").click();
const focused = (page) => page.evaluate(() => document.activeElement.id);

async function make(page, name, scope = "tenant") {
  await button(page, "새 키…").click();
  await page.locator("#key-name").fill(name);
  await page.locator("#key-scope").selectOption(scope);
  await button(page, "키 만들기").first().click();
}

test("issue 5: a new key is shown once, is copied, and is nowhere afterwards", async () => {
  const tenant = await newTenant();
  const { page, context, complaints } = await inTenant(tenant.tenant);
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: new URL(JARI_URL).origin });
  await page.getByText("지금 사용할 수 있는 API 키가 없습니다.").waitFor();
  await make(page, "");
  await page.locator("#key-name-problem").filter({ hasText: "1~100바이트" }).waitFor();
  await button(page, "취소").click();
  await make(page, "상점 서버");
  await dialog(page).filter({ hasText: "다시 볼 수 없습니다" }).waitFor();
  const key = await secretOf(page);
  const id = key.split("_")[1];
  await dialog(page).filter({ hasText: `상점 서버 (${id})` }).waitFor();
  assert.equal(await statusWith(key), GOOD);
  await button(page, "복사").click();
  await dialog(page).getByText("복사했습니다.").waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), key);
  await keep(page);
  await dialog(page).waitFor({ state: "detached" });
  await until("the focus is where it began", () => focused(page), (now) => now === "new-key");
  await entry(page, id).filter({ hasText: "사용 가능" }).waitFor();
  const secret = key.split("_")[2];
  const left = await page.evaluate(() => document.documentElement.outerHTML + [...document.querySelectorAll("input")].map((input) => input.value).join() + JSON.stringify({ ...sessionStorage, ...localStorage }) + location.href);
  assert.ok(!left.includes(secret), "neither on the page nor in what it keeps");
  const [made] = await tenant.keys();
  assert.deepEqual([made.id, made.name, made.scope], [id, "상점 서버", "tenant"]);
  await page.reload();
  await entry(page, id).filter({ hasText: /마지막 사용/ }).waitFor();
  assert.equal(await dialog(page).count(), 0);
  assert.deepEqual(complaints.filter((text) => !/status of 422/.test(text)), []);
});

test("issue 5: neither Escape nor another view loses a key that was not put away; the end of the session does", async () => {
  const tenant = await newTenant();
  const session = await admin("POST", "keys", { scope: "admin", name: "for a while" });
  const { page } = await inTenant(tenant.tenant, {}, session.key);
  await make(page, "상점 서버");
  const key = await secretOf(page);
  for (let n = 0; n < 3; n += 1) await page.keyboard.press("Escape");
  await page.evaluate(() => (location.hash = "#/audit"));
  await page.getByRole("heading", { level: 1, name: "변경 기록" }).waitFor({ state: "attached" });
  assert.equal(await secretOf(page), key);
  assert.ok(await dialog(page).isVisible());
  await admin("DELETE", `keys/${session.id}`);
  await page.locator("#key-problem").filter({ hasText: "로그인이 종료되었습니다" }).waitFor();
  assert.equal(await dialog(page).count(), 0);
  assert.ok(!(await page.content()).includes(key));
});

test("issue 5: where a browser gives no clipboard the key is selected, and it is said", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant, { locale: "en-US" });
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await button(page, "New key…").click();
  await page.locator("#key-name").fill("shop server");
  await button(page, "Make a key").first().click();
  await dialog(page).filter({ hasText: "It will not be shown again" }).waitFor();
  await button(page, "Copy").click();
  await dialog(page).getByText("copy it with Ctrl+C").waitFor();
  const selected = await page.locator("#secret-key").evaluate((input) => input.value.slice(input.selectionStart, input.selectionEnd));
  assert.equal(selected, await secretOf(page));
  await shot(page, "admin-key-once-en");
});

// Also the picture of the documentation.
test("issue 5: a replaced API key stays good for the overlap, and ends at once where that is meant", async () => {
  const tenant = await newTenant({ return_urls: ["https://shop.example/tickets"], cors_origins: ["https://app.example"], joins_per_minute: 6000 });
  await admin("POST", `tenants/${tenant.tenant}/site-keys/rotate`, {});
  const { id, key } = await tenant.newKey("상점 서버");
  const { page } = await inTenant(tenant.tenant, { viewport: { width: 1360, height: 900 } });
  const replace = (of) => button(page, `상점 서버 (${of}) 키 교체…`);
  const submit = () => button(page, "교체").click();
  await replace(id).click();
  const hours = page.locator(`#overlap-${id}`);
  for (const [wrong, why] of [["", "숫자를 입력"], ["-1", "0 이상"], ["721", "720시간 이하"]]) {
    await hours.fill(wrong);
    await submit();
    await page.locator(`#overlap-${id}-problem`).filter({ hasText: why }).waitFor();
  }
  assert.equal((await tenant.keys()).length, 1);
  await hours.fill("2");
  await submit();
  const second = await secretOf(page);
  await keep(page);
  await until("the focus is in the list of keys", () => focused(page), (now) => now === "keys-title");
  await said(page, "상점 서버 키를 교체했습니다.");
  await entry(page, id).locator(".badge.paused").filter({ hasText: "까지 사용 가능" }).waitFor();
  assert.deepEqual([await statusWith(key), await statusWith(second)], [GOOD, GOOD]);
  const [old] = await tenant.keys();
  const inHours = (Date.parse(old.expires_at) - Date.now()) / 3600000;
  assert.ok(inHours > 1.9 && inHours <= 2, `${inHours} h`);
  await page.locator(".toast").waitFor({ state: "detached" });
  await page.evaluate(() => scrollTo(0, 0));
  await shot(page, "admin-tenant-ko");

  const secondId = second.split("_")[1];
  await replace(secondId).click();
  await page.locator(`#overlap-${secondId}`).fill("0");
  await submit();
  await dialog(page).filter({ hasText: `상점 서버 (${secondId})` }).filter({ hasText: "바로 거절" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await statusWith(second), GOOD, "who says no ends nothing");
  await submit();
  await confirm(page);
  const third = await page.locator("#secret-key").inputValue();
  await keep(page);
  assert.deepEqual([await statusWith(second), await statusWith(third)], [401, GOOD]);
  await page.getByText("폐기되거나 만료된 키: 1개").click();
  await entry(page, secondId).locator(".badge.closed").filter({ hasText: "만료" }).waitFor();
});

test("issue 5: a key is revoked after a question with its name; one's own is not", async () => {
  const tenant = await newTenant();
  const [{ id, key }, own] = [await tenant.newKey("상점 서버"), await tenant.newKey("나", "admin")];
  const { page } = await inTenant(tenant.tenant, {}, own.key);
  const revoke = button(page, `상점 서버 (${id}) 키 폐기…`);
  await revoke.click();
  await dialog(page).filter({ hasText: `상점 서버 (${id})` }).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.value), "no", "the harmless answer has the focus");
  await page.keyboard.press("Enter");
  await dialog(page).waitFor({ state: "detached" });
  assert.equal(await statusWith(key), GOOD);
  await revoke.click();
  await confirm(page);
  await said(page, "상점 서버 키를 폐기했습니다.");
  assert.equal(await statusWith(key), 401);
  await page.getByText("폐기되거나 만료된 키: 1개").click();
  await entry(page, id).locator(".badge.closed").filter({ hasText: "폐기" }).waitFor();
  assert.equal(await entry(page, id).getByRole("button").count(), 0, "nothing is left to do with it");

  await entry(page, own.id).filter({ hasText: "지금 로그인에 사용 중인 키입니다." }).waitFor();
  assert.equal(await button(page, `나 (${own.id}) 키 폐기…`).count(), 0);
  await button(page, `나 (${own.id}) 키 교체…`).click();
  await page.locator(`#overlap-${own.id}`).fill("0");
  await button(page, "교체").click();
  await confirm(page);
  await page.locator(`#overlap-${own.id}-problem`).filter({ hasText: "새 키로 먼저 로그인" }).waitFor();
  assert.equal(await statusWith(own.key), 200);
});

test("issue 5: signing keys: made, replaced with an overlap, and a replaced one ended at once", async () => {
  const tenant = await newTenant();
  const { page, complaints } = await inTenant(tenant.tenant);
  const card = page.locator("[data-card=site-keys]");
  const kid = (id) => card.locator(`[data-site-key="${id}"]`);
  await card.getByText("서명 키가 없습니다.").waitFor();
  await card.getByRole("button", { name: "키 만들기" }).click();
  await said(page, "새 서명 키를 만들었습니다.");
  const [first] = await tenant.siteKeys();
  await kid(first.id).locator(".badge.open").filter({ hasText: "지금 서명 중" }).waitFor();
  assert.equal(await kid(first.id).getByRole("button").count(), 0, "the one in use is not ended by itself");

  const replace = async (hours) => {
    await card.getByRole("button", { name: "교체…" }).click();
    await page.locator("#overlap-site-key").fill(hours);
    await card.getByRole("button", { name: "교체", exact: true }).click();
  };
  await replace("24");
  const second = await until("the second is there", tenant.siteKeys, (keys) => keys.length === 2);
  await kid(second[1].id).locator(".badge").filter({ hasText: "부터 서명" }).waitFor();
  await kid(first.id).locator(".badge.paused").filter({ hasText: "까지 사용 가능" }).waitFor();
  await kid(first.id).locator(".badge.open").filter({ hasText: "지금 서명 중" }).waitFor();

  await button(page, `서명 키 ${first.id} 지금 만료…`).click();
  await dialog(page).filter({ hasText: first.id }).filter({ hasText: "다시 거쳐야" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  assert.ok(Date.parse((await tenant.siteKeys())[0].ends_at) > Date.now(), "who says no ends nothing");
  await button(page, `서명 키 ${first.id} 지금 만료…`).click();
  await confirm(page);
  await said(page, `서명 키 ${first.id}가 만료되었습니다.`);
  await kid(second[1].id).locator(".badge.open").filter({ hasText: "지금 서명 중" }).waitFor();
  const shown = await (await fetch(`${JARI_URL}/.well-known/jwks.json`)).json();
  const kids = shown.keys.map((key) => key.kid);
  assert.deepEqual([kids.includes(first.id), kids.includes(second[1].id)], [false, true], "sites are told");

  await replace("0");
  await dialog(page).filter({ hasText: tenant.tenant }).waitFor();
  await confirm(page);
  await until("all but the newest have ended", tenant.siteKeys, (keys) => keys.length === 3 && keys[2].signs && Date.parse(keys[1].ends_at) <= Date.now() + 1000);
  await card.getByText("폐기되거나 만료된 키: 2개").waitFor();
  assert.deepEqual(await tenant.actions(), ["site-key.rotate", "site-key.end", "site-key.rotate", "site-key.rotate", "tenant.set"]);
  assert.deepEqual(complaints, []);
});

test("issue 5: a key that another operator makes or revokes is seen without asking", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  const { id } = await tenant.newKey("다른 운영자");
  await entry(page, id).filter({ hasText: "사용한 적 없음" }).waitFor();
  // Between the page's look and its own change.
  await button(page, `다른 운영자 (${id}) 키 교체…`).click();
  await page.route(`**/keys/${id}/rotate`, async (route) => {
    await admin("DELETE", `keys/${id}`);
    await route.continue();
  });
  await button(page, "교체").click();
  await page.locator(".toast.bad").filter({ hasText: "키가 없거나 이미 만료되었습니다." }).waitFor();
  assert.equal(await dialog(page).count(), 0);
  await page.getByText("폐기되거나 만료된 키: 1개").waitFor();
  assert.equal((await tenant.keys()).length, 1, "no key was made");
  assert.equal(await statusWith(ADMIN_KEY), 200);
});
