// An operator with a browser of their own, on the operator's page. Knows no room but by its id.
import { newVisitor, until } from "./browser.mjs";
import { ADMIN_KEY, JARI_URL } from "./jari.mjs";

export const PHONE = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

export async function newOperator(options = {}, server = { url: JARI_URL, key: ADMIN_KEY }) {
  const person = await newVisitor({ timezoneId: "Asia/Seoul", ...options });
  const page = await person.context.newPage();
  await page.goto(`${server.url}/admin`);
  return { ...person, page, server };
}

export async function signIn({ page, server }, key = server.key) {
  await page.locator("#key").fill(key);
  await page.locator("#key").press("Enter");
}

// Signed in and looking at a view, once `shown` is there.
async function inView(hash, shown, options, server, key) {
  const operator = await newOperator(options, server);
  await signIn(operator, key);
  await untilLive(operator.page);
  await operator.page.evaluate((hash) => (location.hash = hash), hash);
  await operator.page.locator(shown).first().waitFor();
  return operator;
}

export const inRoom = (room, options = {}, server = undefined) => inView(`#/rooms/${room}`, ".steer #rate_per_s", options, server);

export const inTenants = (options = {}) => inView("#/tenants", "[data-tenant]", options);

export const inTenant = (tenant, options = {}, key = undefined) =>
  inView(`#/tenants/${tenant}`, ".steer #tenant-name", options, undefined, key);

export const untilLive = (page) =>
  until("it is live", () => page.locator("[data-connection]").getAttribute("data-connection"), (now) => now === "live");

// A number on the page, whatever its digits are grouped by.
export const number = async (locator) => Number((await locator.textContent()).replace(/\D/g, ""));

export const button = (page, name) => page.getByRole("button", { name, exact: true });

// The dialog that asks twice: yes.
export async function confirm(page) {
  await page.locator("dialog[open] button[value=yes]").click();
}

export const said = (page, text) => page.locator(".toasts").getByText(text).waitFor();
