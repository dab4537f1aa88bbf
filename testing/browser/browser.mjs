// Chromium for the tests: fresh visitors, and everything the page complains about. Knows no rooms.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const SHOTS = process.env.BROWSER_SHOTS;
// A name of the loopback address that browsers do not take for the loopback: over plain HTTP it is no secure origin.
export const PLAIN_HOST = "plain.example";
const ARGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`,
];
// The page's own limits are 8 s for a call and 6 s for a silent stream: what a test waits for comes soon after.
export const SOON_MS = 15000;

let browser;
const opened = [];

// What a test opened is closed after it, also when it fails.
export function closeLater(thing) {
  opened.push(thing);
  return thing;
}

// Starts one browser for the tests of a file; `more` is what it is launched with beside.
export function useBrowser(more = {}) {
  before(async () => {
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGS, ...more });
  });
  afterEach(() => Promise.all(opened.splice(0).map((thing) => thing.close())));
  after(() => browser?.close());
}

// A person with cookies of their own. `complaints` collects what a console or a failed script says.
export async function newVisitor(options = {}) {
  const context = closeLater(await browser.newContext({ locale: "ko-KR", ...options }));
  context.setDefaultTimeout(SOON_MS);
  const complaints = [];
  context.on("console", (message) => {
    // Browsers ask for it beside a target that is no page, such as the JSON that the tests lead to; whether in time, is chance.
    const unasked = message.location().url.endsWith("/favicon.ico");
    if (message.type() === "error" && !unasked) complaints.push(message.text());
  });
  context.on("weberror", (error) => complaints.push(String(error.error())));
  return { context, complaints };
}

// Waits until what `read` gives is what `good` wants.
export async function until(what, read, good, limitMs = SOON_MS) {
  const end = Date.now() + limitMs;
  let last;
  while (Date.now() < end) {
    last = await read();
    if (good(last)) return last;
    await new Promise((done) => setTimeout(done, 100));
  }
  assert.fail(`${what}: still ${JSON.stringify(last)} after ${limitMs} ms`);
}

export const mode = (page) => page.locator("#card").getAttribute("data-mode");

export const untilMode = (page, wanted, limitMs) =>
  until(`the page shows ${wanted}`, () => mode(page), (now) => now === wanted, limitMs);

// The position as a number, once one is shown.
export async function position(page) {
  await page.locator("#position").filter({ hasText: /\d/ }).waitFor();
  return Number((await page.locator("#position").textContent()).replace(/\D/g, ""));
}

export async function shot(page, name) {
  if (!SHOTS) return;
  await mkdir(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage: true });
}
