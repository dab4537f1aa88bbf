// A TCP proxy in front of Jari that can fall silent without closing anything: what a hung server, or a slow network, looks
// like.
import { createServer, connect } from "node:net";
import { JARI_URL } from "./jari.mjs";

export async function hangingProxy() {
  const { hostname, port } = new URL(JARI_URL);
  const pairs = new Set();
  let accepted = 0;
  const server = createServer((client) => {
    accepted += 1;
    const upstream = connect(Number(port || 80), hostname);
    const pair = { client, upstream, hung: false, streams: false, held: [] };
    pairs.add(pair);
    const pass = (from, to) => {
      from.on("data", (bytes) => {
        if (from === client && bytes.includes("/events HTTP")) pair.streams = true;
        if (pair.hung) pair.held.push([to, bytes]);
        else to.write(bytes);
      });
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
    // As a balancer shows a node that hangs: calls are answered by another.
    hangStreams: () => pairs.forEach((pair) => (pair.hung = pair.streams)),
    // What came meanwhile arrives now.
    goOn: () =>
      pairs.forEach((pair) => {
        pair.hung = false;
        pair.held.splice(0).forEach(([to, bytes]) => to.write(bytes));
      }),
    close: () => {
      pairs.forEach(({ client, upstream }) => [client, upstream].forEach((s) => s.destroy()));
      server.close();
    },
  };
}
