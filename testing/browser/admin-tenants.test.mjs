// Tenants on the operator's page: made, changed, deleted; what is wrong said where it is; two operators at one of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shot, until, useBrowser } from "./browser.mjs";
import { admin, newRoom, newTenant } from "./jari.mjs";
import { button, confirm, inTenant, inTenants, said } from "./operator.mjs";

useBrowser();

const field = (page, name) => page.locator(`#tenant-${name}`);
const problem = (page, id, text) => page.locator(`#${id}-problem`).filter({ hasText: text }).waitFor();
const focused = (page) => page.evaluate(() => document.activeElement.id);
const form = (page) => page.locator("section:has(#tenant-form-title)");
const apply = (page, name = "적용") => form(page).getByRole("button", { name, exact: true });
const dialog = (page) => page.locator("dialog[open]");

test("issue 5: a tenant is made in its own name only, and is listed", async () => {
  const there = await newTenant({ name: "먼저 있던 극장" });
  const { page, complaints } = await inTenants();
  const id = `new-${there.tenant}`;
  await button(page, "새 테넌트…").click();
  const make = () => button(page, "만들기").click();
  await make();
  await problem(page, "new-tenant-id", "입력해 주십시오");
  await page.locator("#new-tenant-name").fill("오페라");
  for (const [wrong, why] of [["Opera House", "영문 소문자"], ["x".repeat(65), "1~64자"], [there.tenant, "이미 있습니다"]]) {
    await page.locator("#new-tenant-id").fill(wrong);
    await make();
    await problem(page, "new-tenant-id", why);
    await until("the wrong field has the focus", () => focused(page), (now) => now === "new-tenant-id");
  }
  assert.equal((await there.read()).name, "먼저 있던 극장", "what is there is not made over");
  await page.locator("#new-tenant-id").fill(id);
  await page.locator("#new-tenant-name").fill("");
  await make();
  await problem(page, "new-tenant-name", "1~100바이트");
  await page.locator("#new-tenant-name").fill("오페라");
  await make();
  await page.getByRole("heading", { level: 1, name: "오페라" }).waitFor();
  assert.equal(await page.title(), "오페라 · Jari 운영");
  assert.equal((await admin("GET", `tenants/${id}`)).name, "오페라");
  await page.getByRole("link", { name: "테넌트", exact: true }).click();
  await page.locator(`[data-tenant="${id}"]`).getByRole("link", { name: "오페라" }).waitFor();
  const own = complaints.filter((text) => !/status of 4/.test(text));
  assert.deepEqual(own, []);
});

const WRONG = [
  ["return_urls", "ftp://shop.example", "https 주소가 아닙니다"],
  ["return_urls", "http://shop.example", "이 기기의 주소"],
  ["return_urls", "https://shop.example/a?x=1", "? 또는 #"],
  ["return_urls", "https://shop.example/a/../b", "경로에"],
  ["return_urls", `https://shop.example/${"a".repeat(600)}`, "512바이트보다"],
  ["cors_origins", "*", "https 주소가 아닙니다"],
  ["cors_origins", "https://app.example/x", "경로를 빼"],
  ["cors_origins", "https://kim@app.example", "사용자 이름과 비밀번호"],
];

test("issue 5: a refused address is said at its own row, and nothing of it is kept", async () => {
  const tenant = await newTenant({ return_urls: ["https://kept.example/"], cors_origins: ["https://kept.example"] });
  const { page } = await inTenant(tenant.tenant);
  for (const [name, wrong, why] of WRONG) {
    await button(page, name === "return_urls" ? "돌아갈 주소 추가" : "호출을 허용할 출처 추가").click();
    await until("the new row has the focus", () => focused(page), (now) => now === `tenant-${name}-1`);
    await page.keyboard.type(wrong);
    await apply(page).click();
    await problem(page, `tenant-${name}-1`, why);
    await until("the wrong row has the focus", () => focused(page), (now) => now === `tenant-${name}-1`);
    assert.equal(await page.locator(`#tenant-${name}-0`).getAttribute("aria-invalid"), "false");
    assert.equal(await page.locator(`#tenant-${name}-1`).getAttribute("aria-describedby"), `tenant-${name}-1-problem`);
    await button(page, `${wrong} 삭제`).click();
    await until("the row before has it then", () => focused(page), (now) => now === `tenant-${name}-0`);
  }
  const { return_urls, cors_origins, version } = await tenant.read();
  assert.deepEqual([return_urls, cors_origins, version], [["https://kept.example/"], ["https://kept.example"], 1]);
});

test("issue 5: addresses are added, pasted as a list, kept in one spelling and removed", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  await page.getByText("없음: 대기실에 정한 주소로만 돌아갑니다.").waitFor();
  const urls = (n) => Array.from({ length: n }, (_, at) => `https://shop-${at}.example/`);
  const paste = (text) =>
    page.locator("#tenant-return_urls-0").evaluate((input, text) => {
      const clipboardData = new DataTransfer();
      clipboardData.setData("text", text);
      input.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, text);
  await button(page, "돌아갈 주소 추가").click();
  await paste(urls(33).join("\r\n"));
  await page.locator("#tenant-return_urls-32").waitFor();
  await apply(page).click();
  await problem(page, "tenant-return_urls", "32개까지");
  await button(page, `${urls(33)[32]} 삭제`).click();
  await button(page, "호출을 허용할 출처 추가").click();
  await page.locator("#tenant-cors_origins-0").fill("  https://APP.example:443/ ");
  await button(page, "호출을 허용할 출처 추가").click();
  await apply(page).click();
  await said(page, "시립 극장 설정을 바꿨습니다.");
  let { return_urls, cors_origins } = await tenant.read();
  assert.deepEqual([return_urls, cors_origins], [urls(32), ["https://app.example"]], "an empty row is nothing");
  await until("it is shown as it is kept", () => page.locator("#tenant-cors_origins-0").inputValue(), (text) => text === "https://app.example");
  await page.locator("#tenant-cors_origins-1").waitFor({ state: "detached" });
  assert.ok(await apply(page).isDisabled(), "nothing is left to apply");
  for (const url of urls(32)) await button(page, `${url} 삭제`).click();
  await until("the way to add has the focus", () => focused(page), (now) => now === "tenant-return_urls-add");
  await button(page, "되돌리기").click();
  await page.locator("#tenant-return_urls-31").waitFor();
  await button(page, "https://app.example 삭제").click();
  await apply(page).click();
  await until("it is gone", tenant.read, ({ cors_origins }) => cors_origins.length === 0);
  ({ return_urls, cors_origins } = await tenant.read());
  assert.deepEqual([return_urls.length, cors_origins], [32, []]);
});

test("issue 5: limits that cannot be sent are not, and what is out of bounds is said at its field", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  const sent = [];
  page.on("request", (request) => request.method() === "PUT" && sent.push(request.url()));
  for (const name of ["rooms_max", "joins_per_minute", "entries_per_minute"]) {
    const before = await field(page, name).inputValue();
    for (const wrong of ["", "1.5", "-1"]) {
      await field(page, name).fill(wrong);
      await apply(page).click();
      await problem(page, `tenant-${name}`, "0 이상의 정수");
    }
    await field(page, name).fill(before);
  }
  assert.deepEqual(sent, []);
  await field(page, "rooms_max").fill("100001");
  await apply(page).click();
  await problem(page, "tenant-rooms_max", "100,000 이하");
  await field(page, "rooms_max").fill("7");
  await field(page, "joins_per_minute").fill("600");
  await field(page, "entries_per_minute").fill("60");
  await apply(page).click();
  await said(page, "설정을 바꿨습니다.");
  const { rooms_max, joins_per_minute, entries_per_minute } = await tenant.read();
  assert.deepEqual([rooms_max, joins_per_minute, entries_per_minute], [7, 600, 60]);
  const entry = page.locator('.entry[data-action="tenant.set"]').first();
  await entry.filter({ hasText: /분당 줄서기.*0.*→.*600/ }).waitFor();
});

test("issue 5: two operators at one tenant: what was left alone follows, what was typed is not overwritten before it was seen", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  await field(page, "name").fill("국립 극장");
  await button(page, "돌아갈 주소 추가").click();
  await page.locator("#tenant-return_urls-0").fill("https://mine.example/");
  await tenant.set({ rooms_max: 12 });
  await until("what was left alone follows", () => field(page, "rooms_max").inputValue(), (now) => now === "12");
  assert.equal(await field(page, "name").inputValue(), "국립 극장", "who types is not disturbed");
  await tenant.set({ name: "도립 극장", return_urls: ["https://theirs.example/"] });
  await page.locator("#tenant-name-news").filter({ hasText: "도립 극장" }).waitFor();
  await page.locator("#tenant-return_urls-news").filter({ hasText: "https://theirs.example/" }).waitFor();
  await apply(page).click();
  await page.locator(".toast.bad").filter({ hasText: "다른 운영자가 설정을 바꿨습니다" }).waitFor();
  assert.equal((await tenant.read()).name, "도립 극장");
  await until("it can be applied again", () => apply(page).isEnabled(), Boolean);
  await apply(page).click();
  await until("now it is meant", tenant.read, ({ name }) => name === "국립 극장");
  const { rooms_max, return_urls } = await tenant.read();
  assert.deepEqual([rooms_max, return_urls], [12, ["https://mine.example/"]]);
  await page.locator("#tenant-name-news").waitFor({ state: "detached" });
});

test("issue 5: a change between the page's look and its own is refused and says so", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  await field(page, "joins_per_minute").fill("90");
  await page.route(`**/v1/admin/tenants/${tenant.tenant}`, async (route) => {
    if (route.request().method() === "PUT") await tenant.set({ joins_per_minute: 30 });
    await route.continue();
  });
  await apply(page).click();
  await page.locator(".toast.bad").filter({ hasText: "다른 운영자가 설정을 바꿨습니다" }).waitFor();
  await page.locator("#tenant-joins_per_minute-news").filter({ hasText: "30" }).waitFor();
  assert.equal((await tenant.read()).joins_per_minute, 30);
  assert.equal(await field(page, "joins_per_minute").inputValue(), "90", "what was typed is kept");
  await page.unroute(`**/v1/admin/tenants/${tenant.tenant}`);
  await apply(page).click();
  await until("it is applied now", tenant.read, ({ joins_per_minute }) => joins_per_minute === 90);
});

test("issue 5: a tenant is deleted after a question with its name, and not while it is in use", async () => {
  const tenant = await newTenant();
  const room = await newRoom({}, { tenant: tenant.tenant });
  const [one, two] = [await inTenant(tenant.tenant), await inTenant(tenant.tenant, { locale: "en-US" })];
  const { page } = one;
  const ask = () => button(page, "테넌트 삭제…").click();
  await page.getByRole("link", { name: room.room }).waitFor();
  await ask();
  await dialog(page).filter({ hasText: `시립 극장 (${tenant.tenant})` }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await ask();
  await confirm(page);
  await page.locator(".toast.bad").filter({ hasText: "먼저 대기실을 삭제하고" }).waitFor();
  await admin("DELETE", `rooms/${room.room}`);
  await ask();
  await confirm(page);
  await said(page, "시립 극장 테넌트를 삭제했습니다.");
  await page.getByRole("heading", { level: 1, name: "테넌트", exact: true }).waitFor();
  await page.locator("[data-tenant=default]").waitFor();
  assert.equal(await page.locator(`[data-tenant="${tenant.tenant}"]`).count(), 0);
  await two.page.getByRole("heading", { name: "There is no such tenant" }).waitFor();
  assert.equal((await tenant.actions())[0], "tenant.delete");
});

test("issue 5: what cannot be read says why and can be tried again; what was read stays", async () => {
  const tenant = await newTenant();
  const { page } = await inTenant(tenant.tenant);
  const down = { status: 503, contentType: "application/problem+json", body: JSON.stringify({ code: "records_unavailable", status: 503 }) };
  await page.route(/\/v1\/admin\/(tenants|keys)/, (route) => route.fulfill(down));
  await tenant.set({ rooms_max: 5 });
  const note = page.locator("main [role=alert].hint").first();
  await note.filter({ hasText: "최신이 아닐 수 있습니다" }).waitFor();
  await note.filter({ hasText: "설정 저장소가 응답하지 않습니다" }).waitFor();
  assert.equal(await field(page, "name").inputValue(), "시립 극장");
  await page.evaluate(() => (location.hash = "#/tenants"));
  await page.locator("[role=alert].hint").filter({ hasText: "불러오지 못했습니다" }).waitFor();
  await page.unroute(/\/v1\/admin\/(tenants|keys)/);
  await button(page, "다시 시도").click();
  await page.locator(`[data-tenant="${tenant.tenant}"]`).waitFor();
  await page.locator("[role=alert].hint").waitFor({ state: "detached" });
});

test("issue 5: what was typed over a tenant survives another language", async () => {
  const tenant = await newTenant({ return_urls: ["https://shop.example/"] });
  const { page, complaints } = await inTenant(tenant.tenant);
  await field(page, "name").fill("국립 극장");
  await button(page, "English").click();
  await page.getByRole("heading", { name: "API keys" }).waitFor();
  assert.equal(await field(page, "name").inputValue(), "국립 극장");
  await field(page, "rooms_max").fill("100001");
  await apply(page, "Apply").click();
  await problem(page, "tenant-rooms_max", "At most 100,000.");
  await shot(page, "admin-tenant-en");
  assert.deepEqual(complaints.filter((text) => !/status of 422/.test(text)), []);
});
