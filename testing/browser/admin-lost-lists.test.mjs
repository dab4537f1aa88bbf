// A store that throws away whom operators blocked: nobody else knows them, so the operator's page says so until they are named again.
import assert from "node:assert/strict";
import { test } from "node:test";
import { until, useBrowser } from "./browser.mjs";
import { ownHouse } from "./house.mjs";
import { admin, newRoom } from "./jari.mjs";
import { inRoom } from "./operator.mjs";

useBrowser();

// Somebody in line by name: an empty room is not ticked, and what it lacks is found when somebody comes.
async function joinByName(house, room, subject) {
  const { key } = await admin("POST", "keys", { scope: "tenant", name: "a site" }, house);
  const order = async (path, body, headers) => {
    const ask = { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
    // The node that did not make the key learns of it within a second or so.
    const answer = await until(path, () => fetch(`${house.url}/v1/${path}`, ask), ({ ok }) => ok);
    return answer.json();
  };
  const { entry_token: entry } = await order(`rooms/${room}/entries`, { subject }, { authorization: `Bearer ${key}` });
  await order(`rooms/${room}/places`, { entry });
}

test("issue 4: lists that the store lost alarm in both languages, until as many people are named again", async () => {
  const house = await ownHouse();
  const room = await newRoom({}, { identity: "entry" }, house);
  await Promise.all(house.nodes.map((node) => node.knows(room.room)));
  await joinByName(house, room.room, "ari");
  await room.act("block", { subjects: ["pest"] });
  const alarm = (page) => page.locator(`[data-alarm="${room.room}:unlisted"]`);
  const [ko, en] = [await inRoom(room.room, {}, house), await inRoom(room.room, { locale: "en-US" }, house)];
  assert.equal(await alarm(ko.page).count(), 0);

  assert.equal(await house.redis(`DEL jari:{${room.room}}:block`), ":1");
  await alarm(ko.page).filter({ hasText: "1명의 기록이 저장소에서 사라졌습니다" }).waitFor();
  await alarm(en.page).filter({ hasText: "name them again" }).waitFor();
  await ko.page.locator("[role=alert]").filter({ hasText: "다시 지정해 주십시오" }).first().waitFor({ state: "attached" });

  await room.act("block", { subjects: ["pest"] });
  for (const { page } of [ko, en]) await alarm(page).waitFor({ state: "detached" });
});
