// A TCP proxy in front of Jari that can fall silent without closing anything: what a hung server looks like.
import { createServer, connect } from "node:net";
import { JARI_URL } from "./jari.mjs";

export async function hangingProxy() {
  const { hostname, port } = new URL(JARI_URL);
  const pairs = new Set();
  let accepted = 0;
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(Number(port || 80), hostname);
    const pair = { client, upstream, hung: false };
    pairs.add(pair);
    const pass = (from, to) => {
      from.on("data", (bytes) => pair.hung || to.write(bytes));
      from.on("close", () => {
        if (!pair.hung || from === client) to.destroy();
        pairs.delete(pair);
      });
      from.on("error", () => to.destroy());
    };
    pass(client, upstream);
    pass(upstream, client);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    connections: () => accepted,
    // The connections there are now never say another word; new ones work.
    hangOpenConnections: () => pairs.forEach((pair) => (pair.hung = true)),
    close: () => {
      pairs.forEach(({ client, upstream }) => [client, upstream].forEach((s) => s.destroy()));
      server.close();
    },
  };
}
