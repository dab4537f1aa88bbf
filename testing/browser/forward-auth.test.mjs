// A real nginx and a real Envoy before a plain site, by the configurations in deploy/forward-auth: the next one waits, and lands
// on the page that they wanted. What each of them passes on and refuses stands in server/app/tests/forward_auth.
import { test } from "node:test";
import { closeLater, useBrowser } from "./browser.mjs";
import { freePort, proxy } from "./forward-auth.mjs";
import { admin } from "./jari.mjs";
import { LOOKS, ROOM, theNextOneWaitsAndLands, TITLE } from "./landing.mjs";
import { ownServer } from "./program.mjs";
import { staticSite } from "./site.mjs";

useBrowser();

async function asked(kind) {
  const site = closeLater(await staticSite(ROOM));
  const here = await freePort();
  const server = await ownServer({
    JARI__HTTP__PUBLIC_URL: `http://127.0.0.1:${here}`,
    JARI__HTTP__TRUSTED_PROXIES: "127.0.0.1",
  });
  const room = { room: ROOM, title: TITLE, identity: "anonymous", target_url: "/tickets/", settings: { capacity: 1 } };
  await admin("POST", "rooms", room, server);
  const entrance = await proxy(kind, { here, jari: Number(new URL(server.url).port), site: site.port });
  return { site, server, entrance };
}

for (const [kind, look] of [["nginx", LOOKS[0]], ["envoy", LOOKS[3]]]) {
  test(`issue_5: behind ${kind} the next one waits and lands on the wanted page, ${look.name}`, async () => {
    await theNextOneWaitsAndLands(await asked(kind), look, kind);
  });
}
