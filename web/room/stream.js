// The event stream, read by fetch: it can be given up when silent, and its refusal can be read. Does not reconnect.
import { CALL_LIMIT_MS } from "./call.js";

// The server sends a comment after 3 to 4 s of silence. When so long nothing came, it may hang, or the network be slow.
export const QUIET_MS = 6000;
// However slow the network: nobody is there.
export const SILENCE_LIMIT_MS = 35000;

// Calls `hear(event, data)` until the stream ends. Answers {status, data}: what it was refused with, or status 200.
// `hear` answers true to end it. `control` takes `abort` and `heardAt`; its `doubt` is called for every QUIET_MS of silence.
export async function follow(path, control, hear) {
  const stop = new AbortController();
  control.abort = () => stop.abort();
  let watchdog;
  let quiet;
  const alive = (limit = SILENCE_LIMIT_MS) => {
    control.heardAt = Date.now();
    clearTimeout(watchdog);
    clearInterval(quiet);
    watchdog = setTimeout(control.abort, limit);
    if (limit > CALL_LIMIT_MS) quiet = setInterval(() => control.doubt?.(), QUIET_MS);
  };
  alive(CALL_LIMIT_MS);
  try {
    const response = await fetch(path, {
      headers: { accept: "text/event-stream" },
      cache: "no-store",
      signal: stop.signal,
    });
    if (!response.ok) return { status: response.status, data: await response.json() };
    alive();
    await read(response.body.getReader(), alive, hear);
    return { status: 200, data: {} };
  } catch {
    return { status: 0, data: {} };
  } finally {
    clearTimeout(watchdog);
    clearInterval(quiet);
    stop.abort();
  }
}

async function read(reader, alive, hear) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    const parts = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const { event, data } = parseEvent(part);
      if (data && hear(event, JSON.parse(data))) return;
    }
  }
}

// One block of lines between blank lines.
export function parseEvent(block) {
  let event = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at < 1) continue; // A comment, or a field without a value.
    const value = line.slice(at + 1).replace(/^ /, "");
    if (line.startsWith("event:")) event = value;
    if (line.startsWith("data:")) data.push(value);
  }
  return { event, data: data.join("\n") };
}
