// A site that was there before Jari, behind `jari serve --protect`: the first is in, the next waits and lands on the page that
// they wanted. The attempts to get past are bypass.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { untilMode, useBrowser } from "./browser.mjs";
import { admin } from "./jari.mjs";
import { enter, goIn, LOOKS, person, protectedSite, ROOM, theNextOneWaitsAndLands } from "./landing.mjs";

useBrowser();

for (const look of LOOKS) {
  test(`issue_5: the next one waits and lands on the wanted page, ${look.name}`, async () => {
    await theNextOneWaitsAndLands(await protectedSite(), look, "protect");
  });
}

test("issue_5: what is not guarded needs no room", async () => {
  const { site, entrance, stats } = await protectedSite();
  const visitor = await person("passer");
  await visitor.page.goto(`${entrance}/about?y=2`);
  assert.equal(await visitor.page.locator("#here").textContent(), "/about?y=2");
  assert.deepEqual(await visitor.context.cookies(), [], "nobody is counted who only looks around");
  assert.equal((await stats()).joined_total, 0);
  const [{ headers }] = site.seen.filter((at) => at.target === "/about?y=2");
  assert.deepEqual(Object.keys(headers).filter((name) => name.startsWith("jari")), []);
});

test("issue_5: two tabs land each on the page that it asked for", async () => {
  const { site, entrance, server } = await protectedSite({ capacity: 0 });
  const visitor = await person("tabs");
  const [first, second] = [visitor.page, await visitor.context.newPage()];
  const wanted = ["/tickets/1?a=%2Fb", "/tickets/2?c=d&e=f"];
  await first.goto(entrance + wanted[0]);
  await untilMode(first, "waiting");
  await second.goto(entrance + wanted[1]);
  await untilMode(second, "waiting");
  // Another language is another address of the same page.
  await first.locator("nav a").click();
  await untilMode(first, "waiting");
  assert.ok(!first.url().includes("return="), first.url());
  await admin("PATCH", `rooms/${ROOM}`, { settings: { capacity: 5 } }, server);
  await enter(first, entrance, wanted[0]);
  await enter(second, entrance, wanted[1]);
  assert.deepEqual(site.guardedBy("tabs"), wanted.map((target) => `GET ${target}`), "each once");
  assert.deepEqual(visitor.complaints, []);
});

test("issue_5: the pass goes with its owner from page to page", async () => {
  const { site, entrance, stats } = await protectedSite();
  const visitor = await person("first");
  await goIn(visitor, entrance, "/tickets/1");
  for (const target of ["/tickets/2?a=b", "/tickets/42?x=1"]) {
    await visitor.page.goto(entrance + target);
    assert.equal(await visitor.page.locator("#here").textContent(), target, "at once");
  }
  const seqs = site.seen.filter((at) => at.who === "first" && at.headers["jari-seq"]).map((at) => at.headers["jari-seq"]);
  assert.equal(seqs.length, 3);
  assert.equal(new Set(seqs).size, 1, "as one person");
  assert.ok(site.seen.every((at) => !/jari_/.test(at.headers.cookie ?? "")), "the site sees none of Jari's cookies");
  assert.equal((await stats()).live, 1);
});
