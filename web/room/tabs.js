// One connection for all tabs of a browser: a lock says which tab leads, a channel tells the others. Without the two
// (old browsers, plain http) each tab leads for itself.

// A follower in sight that has heard nothing for this long asks; without an answer it takes the lead.
const SILENT_MS = 20000;
const ANSWER_MS = 5000;
const CHECK_MS = 5000;

export class Tabs {
  // `lead(signal)` runs while this tab leads, `hear(state)` takes what the leader tells, `obey(order)` what others ask of it.
  constructor(room, { lead, hear, obey }) {
    this.name = `jari:${room}`;
    Object.assign(this, { lead, hear, obey });
    this.shared = Boolean(navigator.locks && window.BroadcastChannel);
  }

  start() {
    this.stopped = new AbortController();
    this.leading = false;
    if (!this.shared) {
      this.leading = true;
      this.lead(this.stopped.signal);
      return;
    }
    this.heardAt = Date.now();
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }) => this.receive(data);
    this.queue();
    this.send({ order: "tell" });
    this.check = setInterval(() => this.checkLeader(), CHECK_MS);
  }

  // Before the page sleeps: a sleeping leader would strand the others.
  stop() {
    this.leading = false;
    this.stopped.abort();
    this.pending?.abort();
    clearInterval(this.check);
    this.channel?.close();
  }

  // Tells the followers; an order goes to the leader.
  send(message) {
    if (this.shared && !this.stopped.signal.aborted) this.channel.postMessage(message);
  }

  queue(options) {
    this.pending?.abort();
    const pending = (this.pending = new AbortController());
    const over = new AbortController();
    this.stopped.signal.addEventListener("abort", () => over.abort());
    const hold = async () => {
      this.leading = true;
      await this.lead(over.signal);
    };
    // Rejects where this tab sleeps or asks again, or where another took the lock because this one had fallen silent.
    navigator.locks.request(this.name, options ?? { signal: pending.signal }, hold).catch(() => {
      over.abort();
      if (pending.signal.aborted) return;
      this.leading = false;
      this.queue();
    });
  }

  receive({ state, order }) {
    if (state && !this.leading) {
      this.heardAt = Date.now();
      this.hear(state);
    }
    if (order && this.leading) this.obey(order);
  }

  checkLeader() {
    if (this.leading || document.visibilityState !== "visible") return;
    const silent = Date.now() - this.heardAt;
    if (silent > SILENT_MS + ANSWER_MS) {
      this.heardAt = Date.now();
      this.queue({ steal: true });
    } else if (silent > SILENT_MS) {
      this.send({ order: "tell" });
    }
  }
}
