// The part of Jari's API that a site needs: three calls with the tenant's key. Keeps nothing.
import { randomUUID } from "node:crypto";

// A visitor waits for the answer to a landing; nobody waits for a touch.
const DEADLINE_MS = 3000;

export class Jari {
  // `url`: where Jari is; `key`: an API key of the room's tenant, never sent to a browser.
  constructor({ url, key, room }) {
    Object.assign(this, { url, key, room });
  }

  // The room's page, which leads back to `back`.
  roomPage(back) {
    const page = new URL(`/rooms/${this.room}`, this.url);
    page.searchParams.set("return", back);
    return page.href;
  }

  // Shows a token: {pass, subject}, or {refused: reason}. Throws where Jari cannot be asked: then nothing is known of it.
  async verify(token) {
    // Repeated with the same nonce, so that an answer that was lost costs nobody their turn.
    const body = { token, nonce: randomUUID(), room: this.room };
    const { status, data } = await this.post("verify", body).catch(() => this.post("verify", body));
    if (status === 200) return data;
    if (status === 428) return { refused: data.reason };
    throw new Error(`Jari answered ${status} ${data.code}`);
  }

  // Says that these are in use. Answers those that are not good any more.
  async touch(passes) {
    // "recovering" means: ask again. Nobody is sent away for what Jari does not know.
    const gone = ({ status }) => status === "ended" || status === "unknown";
    return (await this.about("touch", passes)).filter(gone).map(({ pass }) => pass);
  }

  // Says that their owners are done.
  async end(passes) {
    await this.about("end", passes);
  }

  async about(call, passes) {
    const { status, data } = await this.post(call, { passes });
    if (status !== 200) throw new Error(`Jari answered ${status} ${data.code}`);
    return data.passes;
  }

  async post(call, body) {
    const answer = await fetch(new URL(`/v1/passes/${call}`, this.url), {
      method: "POST",
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    return { status: answer.status, data: await answer.json() };
  }
}
