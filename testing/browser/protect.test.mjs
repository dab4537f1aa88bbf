// A site that was there before Jari, behind `jari serve --protect`: the first is in, the next waits and lands on the page that
// they wanted. The attempts to get past are bypass.test.mjs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { useBrowser } from "./browser.mjs";
import { goIn, LOOKS, person, protectedSite, theNextOneWaitsAndLands } from "./landing.mjs";

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
