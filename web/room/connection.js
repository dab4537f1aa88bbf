// The one live connection of a browser: joins, then streams or polls, and survives whatever the network does.
import { ROOT, call, backoff, Nap } from "./call.js";
import { solved } from "./check.js";
import { follow, QUIET_MS } from "./stream.js";

// Identity is made anew this often in a row before the page says that it cannot be kept (cookies refused).
const IDENTITY_TRIES = 3;
// Solutions in a row that the room may refuse before the page rests: work for nothing would only empty a battery.
const PROOF_TRIES = 3;
// How often a page without a place looks whether the room has changed.
const LOOK_AGAIN_MS = 30000;
// At the opening everybody's page joins: spread over this.
const OPENING_SPREAD_MS = 1500;
// Streams that end sooner than this, again and again, are no better than polls and must not be made without a pause.
const STREAM_SHORT_MS = 3000;
const STREAM_SHORT_MAX = 3;
// Longest time that polls stand in for a stream that keeps failing.
const STREAM_RETRY_MAX_MS = 120000;
const POLL_MS = 5000;
// A page on a stream asks this often as well: only an answer to a call can renew the receipt of its place, which is what
// brings the place back should the server lose it. The server takes receipts of the last minutes.
const RENEW_MS = 50000;
// When the server has lost the line, every page shows its receipt: spread over this.
const SHOW_SPREAD_MS = 3000;

export class Connection {
  // `tell(state)` takes {view, viewAt, line, problem, skewMs, at}, plain data.
  constructor(room, { account, entry, tell }) {
    this.base = `${ROOT}/v1/rooms/${room}`;
    Object.assign(this, { account, entry, tell });
    this.nap = new Nap();
    this.stream = {};
    this.state = { skewMs: 0 };
    this.joining = true;
    this.idle = false;
    this.failures = this.identityTries = this.proofTries = 0;
    this.streamFailures = this.shortStreams = this.noStreamUntil = 0;
  }

  // Goes on until `signal` aborts: only one tab runs it at a time.
  async run(signal) {
    signal.addEventListener("abort", () => this.interrupt());
    while (!signal.aborted) {
      let pause = this.idle ? LOOK_AGAIN_MS : await this.take(await this.ask(), signal);
      if (!signal.aborted && this.mayStream()) pause = await this.listen(pause);
      if (!signal.aborted && pause > 0) await this.nap.sleep(pause);
    }
  }

  // Takes over where another tab stopped.
  resume(state) {
    if (state?.view) Object.assign(this, { state, joining: false, idle: state.view.status === "ended" });
  }

  // Asks now: the page came back to the front, or the network did.
  poke() {
    const streaming = this.stream.abort && Date.now() - this.stream.heardAt < QUIET_MS;
    // No stream tells that another tab went in or that a pass is used.
    if (!streaming || this.state.view?.status === "admitted") this.interrupt();
  }

  interrupt() {
    this.stream.abort?.();
    this.nap.wake();
  }

  join() {
    Object.assign(this, { joining: true, idle: false });
    this.interrupt();
  }

  left() {
    this.idle = true;
    this.update({ view: { ...this.state.view, status: "ended", left: true }, problem: undefined });
    this.interrupt();
  }

  ask() {
    if (!this.joining) return call("GET", `${this.base}/places/me`);
    const shown = (this.entry || this.proof) && { entry: this.entry, altcha: this.proof };
    return call("POST", `${this.base}/places`, shown);
  }

  // Takes an answer in; answers the pause until the next call.
  take({ status, data, retryMs, skewMs }, signal) {
    if (signal.aborted || this.idle) return 0;
    if (skewMs !== undefined) this.state.skewMs = skewMs;
    const directed = data.poll_after_ms ?? retryMs;
    if (status === 200 || status === 201) return this.takeView(data, directed);
    if (status === 401) return this.takeStranger();
    if (data.code === "challenge_required") return this.takeChallenge(signal);
    const lasting = [403, 404, 409, 410].includes(status);
    if (lasting) {
      this.joining = true;
      this.failures = 0;
      this.update({ view: undefined, problem: data });
      return directed ?? this.untilOpening(data.opens_at ?? data.reopens_at);
    }
    // Too fast is no trouble: the place is as it was shown.
    if (status === 429 && this.state.view && directed) return directed;
    this.failures += 1;
    this.update({ problem: { ...data, code: data.code ?? (status ? "server" : "network") } });
    return directed ? directed * (1 + Math.random() / 5) : backoff(this.failures - 1);
  }

  takeView(view, directed) {
    this.joining = false;
    this.entry = this.proof = undefined;
    this.idle = view.status === "ended";
    this.failures = this.identityTries = this.proofTries = 0;
    this.takePlace(view);
    return directed ?? POLL_MS;
  }

  takePlace({ place_token, stream_key, ...view }) {
    this.update({ view, viewAt: Date.now(), line: view.line, problem: undefined });
  }

  // The receipt of the place is not known: a join finds the place of the same identity. Where the join does not know
  // the identity either, an anonymous one is made anew.
  takeStranger() {
    if (!this.joining) {
      this.joining = true;
      return 0;
    }
    this.identityTries += 1;
    const anonymous = this.account === "anonymous";
    // An entry token lives for minutes, the cookie that a join got for it as long as the wait: the cookie may still do.
    const spent = this.entry !== undefined;
    this.entry = undefined;
    if ((!anonymous && !spent) || this.identityTries > IDENTITY_TRIES) {
      this.update({ problem: { code: anonymous ? "identity" : "entry" } });
      return LOOK_AGAIN_MS;
    }
    return anonymous ? call("POST", `${ROOT}/v1/visitors`).then(() => 0) : 0;
  }

  // The room wants a little work of this device before it gives a place; the next join shows it. It stays good for minutes:
  // a page that waits for the opening has it then.
  async takeChallenge(signal) {
    this.joining = true;
    this.proof = undefined;
    this.proofTries += 1;
    if (this.proofTries > PROOF_TRIES) {
      this.proofTries = 0;
      this.update({ view: undefined, problem: { code: "server" } });
      return LOOK_AGAIN_MS;
    }
    const tell = (percent) => {
      if (!signal.aborted) this.update({ view: undefined, problem: { code: "challenge_required", percent } });
    };
    tell(0);
    const { status, data } = await call("GET", `${this.base}/challenge`);
    // Not asked for any more, or not of whom this page thinks that it is: the join tells.
    if (status === 404 || status === 401) return 0;
    if (status !== 200) return backoff(this.proofTries);
    try {
      this.proof = await solved(data, tell, signal);
      return 0;
    } catch {
      return backoff(this.proofTries);
    }
  }

  untilOpening(time) {
    const left = time ? Date.parse(time) - Date.now() - this.state.skewMs : LOOK_AGAIN_MS;
    const spread = OPENING_SPREAD_MS * Math.random();
    return Math.min(Math.max(left, 1000), LOOK_AGAIN_MS) + spread;
  }

  mayStream() {
    const { view, problem } = this.state;
    return !this.idle && !problem && view?.stream && Date.now() >= this.noStreamUntil;
  }

  // Streams as long as it goes; answers the pause before the next poll.
  async listen(pause) {
    const began = Date.now();
    let opened = false;
    let returnMs = 0;
    const renewing = setInterval(() => this.renew(), RENEW_MS);
    this.stream.doubt = () => this.doubt(this.stream);
    const end = await follow(`${this.base}/events`, this.stream, (event, data) => {
      opened = true;
      if (event === "reconnect") returnMs = data.after_ms;
      const lost = event === "line" && ["recovering", "off"].includes(data.state);
      if (lost) returnMs = 1 + SHOW_SPREAD_MS * Math.random();
      return this.hear(event, data) || lost || event === "reconnect";
    });
    clearInterval(renewing);
    this.stream = {};
    if (!opened) return this.withoutStream(end, pause);
    this.streamFailures = 0;
    this.shortStreams = Date.now() - began < STREAM_SHORT_MS ? this.shortStreams + 1 : 0;
    return returnMs || (this.shortStreams > STREAM_SHORT_MAX ? pause : 0);
  }

  // The cookie is what counts: what the answer says, the stream says sooner.
  async renew() {
    const { status } = await call("GET", `${this.base}/places/me`);
    if (status === 401 || status === 503) this.interrupt();
  }

  // The stream is silent. A call that is answered while it stays so shows that the network is well and its node hangs:
  // go on elsewhere. Unanswered, it shows nothing: over a slow network the stream may yet go on.
  async doubt(stream) {
    if (stream.doubted) return;
    stream.doubted = true;
    const { heardAt } = stream;
    const { status, data } = await call("GET", `${this.base}/places/me`);
    stream.doubted = false;
    if (!status || this.stream !== stream || stream.heardAt !== heardAt) return;
    if (status === 200) this.takeView(data);
    this.interrupt();
  }

  // Takes an event in; true where a poll must follow: passes and ends are fetched, with every retry that a poll has.
  hear(event, data) {
    const { status } = this.state.view;
    if (event === "line") this.update({ line: data });
    if (event === "admitted" || event === "ended") return status !== event;
    if (event !== "place") return false;
    if (data.status === "admitted" || data.status === "ended") return status !== data.status;
    // Nobody is held up now; to where this person wanted to go, only the answer to their own call leads.
    if (data.go_to) return true;
    this.takePlace(data);
    return false;
  }

  withoutStream({ status, data }, pause) {
    this.streamFailures += 1;
    const rest = data.poll_after_ms ?? backoff(this.streamFailures + 2);
    this.noStreamUntil = Date.now() + Math.min(STREAM_RETRY_MAX_MS, Math.max(rest, pause) * 2);
    return status ? pause : 0;
  }

  update(change) {
    this.state = { ...this.state, ...change, at: Date.now() };
    this.tell(this.state);
  }
}
