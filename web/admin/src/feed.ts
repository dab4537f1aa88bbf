// What goes on in all rooms, live: one stream for the whole page, opened again by itself whenever it ends.
import { call, Lost, Refused, send } from "./api";
import { Series } from "./series";
import { session } from "./session";
import { events, within } from "./sse";
import { Store } from "./store";
import type { Did, HistoryList, LiveFrame } from "./wire";

export type Connection = "connecting" | "live" | "lost" | "crowded";

export interface Feed {
  connection: Connection;
  // Rises each time the server began to count anew: it was started again.
  restarts: number;
  frame?: LiveFrame;
}

// The first try comes at once, the next ones ever later, spread so that many screens do not come in step.
const BACKOFF_MS = [300, 700, 1500, 3000, 5000];
// Numbers "a second" are means over so many: a single second says little.
const RECENT_S = 10;
// A kept connection may hang as well; the next try then takes another.
const OPEN_MAX_MS = 4_000;
// A stream that has told nothing for so long after the page was hidden is made anew at once.
const STALE_MS = 3_000;

const OFF: Feed = { connection: "connecting", restarts: 0 };

export const feed = new Store<Feed>(OFF);
const pasts = new Map<string, Series>();
const recent = new Map<string, Did[]>();
let stopped: AbortController | undefined;
// Ends the stream or the pause of now: a new one is tried at once.
let poke: (() => void) | undefined;
let heardAt = 0;

export function seriesOf(room: string): Series {
  let series = pasts.get(room);
  if (!series) pasts.set(room, (series = new Series()));
  return series;
}

// Whether a time has come by the server's clock, where it has told it: a screen's own may be wrong.
export function hasCome(time: string | undefined): boolean {
  if (time === undefined) return false;
  const { frame } = feed.value;
  return Date.parse(time) <= (frame ? Date.parse(frame.at) : Date.now());
}

// A flow of a room per second, as a mean over the last seconds.
export function perSecond(room: string, flow: keyof Did): number {
  const dids = recent.get(room) ?? [];
  return dids.length === 0 ? 0 : dids.reduce((sum, did) => sum + did[flow], 0) / dids.length;
}

// The room's past to the second, for its chart. Draws with the next frame.
export async function loadPast(room: string): Promise<void> {
  const { rooms } = await call<HistoryList>("GET", `stats/history?room=${encodeURIComponent(room)}`);
  if (rooms[0]) seriesOf(room).load(rooms[0], true);
  feed.set({ ...feed.value });
}

async function loadAllPasts(): Promise<void> {
  const { rooms } = await call<HistoryList>("GET", "stats/history");
  const fine = [...pasts].filter(([, series]) => series.fine).map(([room]) => room);
  for (const past of rooms) if (!fine.includes(past.room)) seriesOf(past.room).load(past, false);
  await Promise.all(fine.map((room) => loadPast(room).catch(() => pasts.delete(room))));
  feed.set({ ...feed.value });
}

function take(frame: LiveFrame): void {
  heardAt = Date.now();
  const before = feed.value.frame;
  const restarted = before !== undefined && before.counting_since !== frame.counting_since;
  if (restarted) {
    for (const series of pasts.values()) series.points = [];
    recent.clear();
  }
  const isNew = restarted || before === undefined || frame.second > before.second;
  for (const room of frame.rooms) {
    seriesOf(room.room).add(frame.second, room);
    if (!isNew) continue;
    const dids = recent.get(room.room) ?? [];
    recent.set(room.room, [...dids, room.did].slice(-RECENT_S));
  }
  feed.set({ connection: "live", restarts: feed.value.restarts + (restarted ? 1 : 0), frame });
}

// Reads one stream to its end; how long the server asks to wait then.
async function follow(signal: AbortSignal): Promise<number> {
  const response = await within(send("GET", "stats/events", { signal }), OPEN_MAX_MS);
  loadAllPasts().catch(() => undefined); // Small pictures only: the next connection tries again.
  for await (const { event, data } of events(response)) {
    if (signal.aborted) return 0;
    if (event === "stats") take(JSON.parse(data) as LiveFrame);
    if (event === "reconnect") return (JSON.parse(data) as { after_ms: number }).after_ms;
  }
  return 0;
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, ms);
    poke = () => {
      clearTimeout(timer);
      done();
    };
    signal.addEventListener("abort", poke, { once: true });
  });
}

// A signal of its own for one try, that ends with the whole as well.
function attempt(whole: AbortSignal): [AbortSignal, () => void] {
  const one = new AbortController();
  const end = () => one.abort();
  poke = end;
  whole.addEventListener("abort", end, { once: true, signal: one.signal });
  return [one.signal, end];
}

function tell(connection: Connection): void {
  feed.set({ ...feed.value, connection });
}

async function run(signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    let after = 0;
    const begun = heardAt;
    const [one, end] = attempt(signal);
    try {
      after = await follow(one);
      if (!signal.aborted) tell("lost");
    } catch (error) {
      if (signal.aborted) return;
      const refused = error instanceof Refused ? error : undefined;
      // The session has ended already where the key is no good.
      if (refused?.status === 401 || refused?.status === 403) return;
      tell(refused?.code === "stream_refused" ? "crowded" : "lost");
      after = refused?.retryMs ?? 0;
      if (!refused && !(error instanceof Lost)) console.info("the stream ended:", error);
    } finally {
      end();
    }
    failures = heardAt > begun ? 0 : failures + 1;
    const backoff = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)] ?? 0;
    await pause(Math.max(after, backoff * (0.75 + Math.random() / 2)), signal);
  }
}

// Follows for as long as somebody is signed in.
export function start(): void {
  let key: string | undefined;
  const follow = () => {
    if (session.value.key === key) return;
    key = session.value.key;
    stopped?.abort();
    if (key === undefined) {
      pasts.clear();
      recent.clear();
      feed.set(OFF);
      return;
    }
    stopped = new AbortController();
    void run(stopped.signal);
  };
  session.listen(follow);
  follow();
  const look = () => {
    if (document.visibilityState === "visible" && Date.now() - heardAt > STALE_MS) poke?.();
  };
  // Back on the network, or out of a pocket: what was silent meanwhile is not waited for.
  addEventListener("online", look);
  document.addEventListener("visibilitychange", look);
}
