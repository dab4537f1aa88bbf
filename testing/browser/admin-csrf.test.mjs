// Cross-site request forgery (CSRF) against an operator who is signed in: a page of another origin, in the same browser, tries
// all that a page can. The same on every call of the API: `server/app/tests/operators/cross_site.rs`.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { closeLater, until, useBrowser } from "./browser.mjs";
import { admin, JARI_URL, newRoom, newTenant } from "./jari.mjs";
import { inTenant } from "./operator.mjs";

useBrowser();

const FORGED = "forged by a page elsewhere";

// Runs in the page of the other origin: sends what forms and scripts can send; answers how each script's call went.
async function forge({ api, tenant, room, forged }) {
  const json = JSON.stringify({ name: forged, scope: "admin" });
  const put = { method: "PUT", credentials: "include", headers: { "content-type": "application/json" }, body: json };
  const post = { method: "POST", credentials: "include", mode: "no-cors", headers: { "content-type": "text/plain" }, body: json };
  const calls = [
    fetch(`${api}/tenants/${tenant}`, put),
    fetch(`${api}/tenants/${tenant}`, { method: "DELETE", credentials: "include" }),
    fetch(`${api}/keys`, { ...post, mode: "cors", headers: put.headers }),
    fetch(`${api}/keys`, post),
    fetch(`${api}/tenants/${tenant}/site-keys/rotate`, post),
    fetch(`${api}/rooms/${room}/pause`, { ...post, body: "{}" }),
  ];
  for (const [path, name, value] of [["keys", '{"name": "', `${forged}", "scope": "admin"}`], [`rooms/${room}/close`, "{", "}"]]) {
    const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { name: `of-${path}` }));
    const form = document.body.appendChild(document.createElement("form"));
    Object.assign(form, { method: "post", action: `${api}/${path}`, enctype: "text/plain", target: frame.name });
    form.append(Object.assign(document.createElement("input"), { name, value }));
    form.submit();
  }
  const settled = await Promise.allSettled(calls);
  return settled.map(({ status, value }) => (status === "fulfilled" ? value.type : status));
}

async function stranger() {
  const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>elsewhere</title><body>"));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  closeLater({ close: () => new Promise((done) => (server.closeAllConnections(), server.close(done))) });
  return `http://127.0.0.1:${server.address().port}`;
}

test("issue 5: a page elsewhere does nothing with the session of an operator who is signed in (CSRF)", async () => {
  const elsewhere = await stranger();
  // Its pages may even call the visitors' API from browsers.
  const tenant = await newTenant({ cors_origins: [elsewhere] });
  const room = await newRoom({}, { tenant: tenant.tenant });
  const { context, page: operators } = await inTenant(tenant.tenant);
  const page = await context.newPage();
  await page.goto(elsewhere);
  const answers = [];
  page.on("response", (response) => response.url().includes("/v1/admin/") && answers.push([response.request().method(), response.status()].join(" ")));
  const told = await page.evaluate(forge, { api: `${JARI_URL}/v1/admin`, tenant: tenant.tenant, room: room.room, forged: FORGED });
  assert.ok(told.length === 6 && told.every((how) => how === "rejected" || how === "opaque"), `no answer can be read: ${told}`);
  // Three calls of scripts and two forms came through to the server, and had no key.
  await until("they were answered", () => answers.filter((answer) => answer === "POST 401").length, (n) => n === 5);
  assert.deepEqual(answers.filter((answer) => answer.startsWith("POST") && answer !== "POST 401"), []);

  const { name, version } = await tenant.read();
  assert.deepEqual([name, version, await tenant.siteKeys()], ["시립 극장", 1, []]);
  const { keys } = await admin("GET", "keys");
  assert.ok(!keys.some((key) => key.name.includes("forged")), "no key was made");
  assert.equal((await room.stats()).state, "open");
  assert.deepEqual((await room.trail()).map(({ action }) => action), ["room.create"]);

  // The page is not laid under clicks, and a window of it that is opened from elsewhere is not signed in.
  await page.evaluate((url) => document.body.append(Object.assign(document.createElement("iframe"), { src: url, name: "admin" })), `${JARI_URL}/admin`);
  await until("the frame is refused", () => page.frame("admin")?.url(), (url) => url?.startsWith("chrome-error:"));
  const opened = page.waitForEvent("popup");
  await page.evaluate((url) => void window.open(url), `${JARI_URL}/admin`);
  await (await opened).locator("#key").waitFor();

  // Where it was signed in, it still is, and what it sends itself is done.
  await operators.locator("#tenant-name").fill("국립 극장");
  await operators.locator("#tenant-name").press("Enter");
  await until("the operator's own change", tenant.read, (now) => now.name === "국립 극장");
});
