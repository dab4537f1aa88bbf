// One HTTP call and how long to wait before the next: 8 s at most, never from a cache. Knows nothing of places.

// What this server's addresses begin with: it may be a guest on the origin of the site that it protects.
export const ROOT = globalThis.document?.body.dataset.root ?? "";

// A server that has not answered by then counts as hung: the call is dropped (which closes its connection) and made anew.
export const CALL_LIMIT_MS = 8000;
const BACKOFF_FIRST_MS = 1000;
const BACKOFF_MAX_MS = 30000;

// Answers {status, data, retryMs, skewMs}; status 0 where there was no answer in time. Never throws.
export async function call(method, path, body) {
  const stop = new AbortController();
  const limit = setTimeout(() => stop.abort(), CALL_LIMIT_MS);
  const headers = { accept: "application/json" };
  if (body) headers["content-type"] = "application/json";
  try {
    const response = await fetch(path, {
      method,
      headers,
      body: body && JSON.stringify(body),
      cache: "no-store",
      signal: stop.signal,
    });
    const text = await response.text();
    return { status: response.status, data: parse(text), ...timing(response.headers) };
  } catch {
    return { status: 0, data: {} };
  } finally {
    clearTimeout(limit);
  }
}

function parse(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {}; // A proxy's error page: its status says enough.
  }
}

function timing(headers) {
  const seconds = Number(headers.get("retry-after"));
  const date = Date.parse(headers.get("date") ?? "");
  return {
    retryMs: seconds > 0 ? seconds * 1000 : undefined,
    skewMs: Number.isNaN(date) ? undefined : date - Date.now(),
  };
}

// The pause before try number `failures` + 1: doubled each time, and spread so that a crowd does not come back in step.
export function backoff(failures, random = Math.random) {
  const base = Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** Math.min(failures, 16));
  return base / 2 + (base / 2) * random();
}

// A pause that can be cut short.
export class Nap {
  sleep(ms) {
    return new Promise((done) => {
      const timer = setTimeout(done, ms);
      this.wake = () => {
        clearTimeout(timer);
        done();
      };
    });
  }

  wake() {}
}
