// A running Jari as its operator and as a crowd of API visitors. Knows no browser.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";

export function needed(name) {
  const value = process.env[name];
  assert.ok(value, `${name} must be set: see README.md`);
  return value;
}

export const JARI_URL = needed("JARI_URL").replace(/\/$/, "");
export const ADMIN_KEY = needed("JARI_ADMIN_KEY");
const SHARED = { url: JARI_URL, key: ADMIN_KEY };

// A call of the operator's API; `server` is another than the one that all tests share.
export async function admin(method, path, body, server = SHARED) {
  const response = await fetch(`${server.url}/v1/admin/${path}`, {
    method,
    headers: { authorization: `Bearer ${server.key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${text}`);
  return text ? JSON.parse(text) : {};
}

// A room of one test's own. By default nobody is admitted until the test says so.
export async function newRoom(settings = {}, definition = {}, server = SHARED) {
  const room = `t-${randomBytes(6).toString("hex")}`;
  const order = (method, path, body) => admin(method, path, body, server);
  await order("POST", "rooms", {
    room,
    title: { ko: "가을 음악회 예매", en: "Autumn concert tickets" },
    identity: "anonymous",
    target_url: `${server.url}/v1/rooms/${room}?from=page`,
    settings: { capacity: 0, rate_per_s: 1, burst: 1, ...settings },
    ...definition,
  });
  return {
    room,
    page: `${server.url}/rooms/${room}`,
    // Lets so many in per second from now on.
    move: (rate_per_s) =>
      order("PATCH", `rooms/${room}`, { settings: { capacity: 5000, rate_per_s, burst: rate_per_s } }),
    set: (changed) => order("PATCH", `rooms/${room}`, { settings: changed }),
    act: (what, body = {}) => order("POST", `rooms/${room}/${what}`, body),
    stats: () => order("GET", `rooms/${room}/stats`),
    definition: () => order("GET", `rooms/${room}`),
    trail: async () => (await order("GET", `audit?target=room:${room}`)).entries,
    // As many people from the API, who stand in line and never move.
    crowd: (people) => Promise.all(Array.from({ length: people }, () => join(server.url, room))),
  };
}

async function join(url, room) {
  const visitor = await fetch(`${url}/v1/visitors`, { method: "POST" });
  const cookie = visitor.headers.getSetCookie().map((text) => text.split(";")[0]).join("; ");
  const place = await fetch(`${url}/v1/rooms/${room}/places`, { method: "POST", headers: { cookie } });
  assert.ok(place.ok, `a join: ${place.status} ${await place.text()}`);
}

// A tenant of one test's own.
export async function newTenant(settings = {}) {
  const tenant = `t-${randomBytes(6).toString("hex")}`;
  const path = `tenants/${tenant}`;
  await admin("PUT", path, { name: "시립 극장", ...settings });
  return {
    tenant,
    read: () => admin("GET", path),
    // All that is known of it, as another operator would set it.
    set: async (changed) => {
      const { tenant: _id, version: _version, rooms: _rooms, ...known } = await admin("GET", path);
      return admin("PUT", path, { ...known, ...changed });
    },
    keys: async () => (await admin("GET", "keys")).keys.filter((key) => key.tenant === tenant),
    newKey: (name, scope = "tenant") => admin("POST", "keys", { tenant, scope, name }),
    siteKeys: async () => (await admin("GET", `${path}/site-keys`)).keys,
    actions: async () => (await admin("GET", `audit?target=tenant:${tenant}`)).entries.map(({ action }) => action),
  };
}

// What a call with an API key is answered: its status.
export async function statusWith(key, path = "rooms") {
  const response = await fetch(`${JARI_URL}/v1/admin/${path}`, { headers: { authorization: `Bearer ${key}` } });
  await response.arrayBuffer();
  return response.status;
}
