// The example site: two pages behind the gate, and a button for who is done.
import express from "express";
import { Gate } from "./gate.js";
import { Jari } from "./jari.js";

const { JARI_URL, JARI_KEY, JARI_ROOM, PORT = "3000", SITE_URL, TOUCH_EVERY_MS = "5000" } = process.env;
for (const [name, value] of Object.entries({ JARI_URL, JARI_KEY, JARI_ROOM })) {
  if (!value) {
    console.error(`${name} is not set`);
    process.exit(2);
  }
}

const app = express();
const server = app.listen(Number(PORT), "127.0.0.1", () => {
  const here = `http://127.0.0.1:${server.address().port}/`;
  const jari = new Jari({ url: JARI_URL, key: JARI_KEY, room: JARI_ROOM });
  const gate = new Gate(jari, SITE_URL ?? here, Number(TOUCH_EVERY_MS));
  app.use(gate.handler());
  app.get(["/", "/tickets"], (request, response) => response.send(page(request.person)));
  app.post("/done", async (request, response) => {
    await gate.done(request.person);
    response.send('<!doctype html><html lang="en"><title>Show</title><h1>Thank you</h1></html>');
  });
  console.log(`listening on ${here}`);
});

// The subject is 32 hex digits: nothing to escape.
function page({ subject }) {
  return `<!doctype html><html lang="en"><title>Show</title><h1>You are inside</h1>
<p>To the room you are ${subject}.</p>
<form method="post" action="/done"><button>I am done</button></form></html>`;
}
