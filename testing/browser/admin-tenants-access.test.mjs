// Everybody can look after tenants: by keyboard alone, with a screen reader, in the dark, on a phone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { shot, until, useBrowser } from "./browser.mjs";
import { newTenant, statusWith } from "./jari.mjs";
import { button, inTenant, inTenants, PHONE, said } from "./operator.mjs";
import { violations } from "./violations.mjs";

useBrowser();

// More stops than the view has.
const TABS_MAX = 80;

// As a person without a mouse: on from stop to stop until the one that is called so.
async function tabTo(page, name) {
  for (let n = 0; n < TABS_MAX; n += 1) {
    await page.keyboard.press("Tab");
    const here = await page.evaluate(() => {
      const { activeElement: at } = document;
      return at.getAttribute("aria-label") ?? at.labels?.[0]?.textContent ?? at.textContent;
    });
    if (here.trim() === name) return;
  }
  assert.fail(`no way to ${name} by keyboard`);
}

async function press(page, name) {
  await tabTo(page, name);
  await page.keyboard.press("Enter");
}

test("issue 5: a tenant is made, set up, given a key and deleted by keyboard alone", async () => {
  const { tenant: id } = await newTenant();
  const { page } = await inTenants();
  await page.evaluate(() => document.activeElement.blur());
  await press(page, "새 테넌트…");
  await tabTo(page, "테넌트");
  await page.keyboard.type(`by-${id}`);
  await tabTo(page, "이름");
  await page.keyboard.type("건반 극장");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "건반 극장" }).waitFor();
  await until("the focus follows", () => page.evaluate(() => document.activeElement.id), (now) => now === "main");

  await press(page, "새 키…");
  await tabTo(page, "이름");
  await page.keyboard.type("상점 서버");
  await page.keyboard.press("Enter");
  await page.locator("dialog[open]").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "복사", "the useful button has the focus");
  const key = await page.locator("#secret-key").inputValue();
  await press(page, "보관했습니다");
  await until("back to where it began", () => page.evaluate(() => document.activeElement.id), (now) => now === "new-key");

  await press(page, "돌아갈 주소 추가");
  await until("the new row has the focus", () => page.evaluate(() => document.activeElement.id), (now) => now === "tenant-return_urls-0");
  await page.keyboard.type("https://shop.example/tickets");
  await page.keyboard.press("Enter");
  await said(page, "건반 극장 설정을 바꿨습니다.");

  const revoke = `상점 서버 (${key.split("_")[1]}) 키 폐기…`;
  await button(page, revoke).waitFor();
  await press(page, revoke);
  await page.locator("dialog[open]").waitFor();
  await press(page, "폐기");
  await said(page, "상점 서버 키를 폐기했습니다.");
  assert.equal(await statusWith(key), 401);
  await until("the focus is in the list of keys", () => page.evaluate(() => document.activeElement.id), (now) => now === "keys-title");
  await press(page, "테넌트 삭제…");
  await page.locator("dialog[open]").waitFor();
  await press(page, "삭제");
  await said(page, "건반 극장 테넌트를 삭제했습니다.");
});

const WORDS = {
  ko: { locale: "ko-KR", make: "새 테넌트…", key: "새 키…", made: "키 만들기", kept: "보관했습니다", replace: "교체…", remove: "테넌트 삭제…", apply: "적용", add: "돌아갈 주소 추가" },
  en: { locale: "en-US", make: "New tenant…", key: "New key…", made: "Make a key", kept: "I have kept it", replace: "Replace…", remove: "Delete the tenant…", apply: "Apply", add: "Add to Return URLs" },
};

// Opens all that a tenant's view can show, and hands each state out.
async function eachState(page, words, look) {
  await button(page, words.add).click();
  await page.locator("#tenant-return_urls-0").fill("http://shop.example");
  await page.locator("section:has(#tenant-form-title)").getByRole("button", { name: words.apply, exact: true }).click();
  await page.locator("#tenant-return_urls-0-problem").waitFor();
  await button(page, words.key).click();
  await page.locator("[data-card=site-keys]").getByRole("button", { name: words.made }).click();
  await page.locator("[data-site-key]").waitFor();
  await page.locator("[data-card=site-keys]").getByRole("button", { name: words.replace }).click();
  await page.locator(".entry").first().waitFor();
  await look("tenant");
  await page.locator("#key-name").fill("a-name-as-long-as-people-make-them-for-servers-of-a-shop");
  await page.locator("[data-card=keys]").getByRole("button", { name: words.made }).click();
  await page.locator("#secret-key").waitFor();
  await look("secret");
  await button(page, words.kept).click();
  await button(page, words.remove).click();
  await page.locator("dialog[open]").waitFor();
  await look("question");
}

for (const [name, words] of Object.entries(WORDS)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`issue 5: no view of tenants has an accessibility violation, ${name}, ${colorScheme}`, async () => {
      const { tenant } = await newTenant();
      const list = await inTenants({ locale: words.locale, colorScheme });
      await button(list.page, words.make).click();
      assert.deepEqual(await violations(list.page), []);
      const { page } = await inTenant(tenant, { locale: words.locale, colorScheme });
      assert.equal(await page.locator("html").getAttribute("lang"), name);
      await eachState(page, words, async (state) => {
        assert.deepEqual(await violations(page), [], state);
        await shot(page, `admin-${state}-${name}-${colorScheme}`);
      });
    });
  }

  test(`issue 5: tenants on a phone of 360 px scroll in one direction only, ${name}`, async () => {
    const { tenant } = await newTenant({ name: "an-organiser-with-a-name-of-one-long-word-that-nobody-can-break", return_urls: [`https://shop.example/${"tickets".repeat(12)}`] });
    const overflow = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    const list = await inTenants({ ...PHONE, locale: words.locale });
    await button(list.page, words.make).click();
    assert.ok((await overflow(list.page)) <= 0, "the list");
    const { page } = await inTenant(tenant, { ...PHONE, locale: words.locale });
    await button(page, words.key).click();
    await page.locator("#key-name").fill("shop");
    await page.locator("[data-card=keys]").getByRole("button", { name: words.made }).click();
    await page.locator("#secret-key").waitFor();
    assert.ok((await overflow(page)) <= 0, "the key");
    const box = await page.locator("dialog[open]").boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 360, "the dialog is whole");
    await shot(page, `admin-secret-phone-${name}`);
    await button(page, words.kept).click();
    await page.locator("[data-card=keys] .entry").waitFor();
    await page.locator("[data-card=keys]").getByRole("button", { name: new RegExp(words.replace.replace("…", ""), "i") }).first().click();
    assert.ok((await overflow(page)) <= 0, "the view");
    await shot(page, `admin-tenant-phone-${name}`);
  });
}
