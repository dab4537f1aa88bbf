// The gate: whoever has a session goes on to the site, a one-time token becomes a session, everybody else goes to the room.
import { randomBytes } from "node:crypto";

const COOKIE = "site_session";
// What Jari calls the token in the address that it sends people to.
const TOKEN = "jari_pass";
// Passes in one call: Jari takes no more.
const BATCH_MAX = 500;

export class Gate {
  // `own`: where visitors reach this site.
  constructor(jari, own, touchEveryMs) {
    Object.assign(this, { jari, own, sessions: new Map(), used: new Set() });
    this.timer = setInterval(() => this.touch(), touchEveryMs);
  }

  // The middleware. Put it before everything that is behind the room.
  handler() {
    return (request, response, next) => this.judge(request, response, next).catch(next);
  }

  async judge(request, response, next) {
    const here = hereOn(this.own, request.originalUrl);
    if (!here) return response.status(400).type("text").send("That is no address of this site.");
    const person = this.sessions.get(cookieOf(request));
    const token = here.searchParams.get(TOKEN);
    if (token !== null) {
      // It goes from the address, so that it is neither bookmarked nor sent on.
      here.searchParams.delete(TOKEN);
      return this.land(token, here, person, response);
    }
    if (!person) return away(response, this.jari.roomPage(here.href));
    this.used.add(person.pass);
    request.person = person;
    return next();
  }

  async land(token, here, person, response) {
    let told;
    try {
      told = await this.jari.verify(token);
    } catch {
      const text = "One moment, please: the waiting room cannot be asked. Load this page again.";
      return response.status(503).set("retry-after", "2").type("text").send(text);
    }
    // An old link, opened by someone who is inside: they stay.
    if (told.refused) return away(response, person ? here.href : this.jari.roomPage(here.href));
    // One pass is one person: a session that the pass had before ends.
    this.forget(told.pass);
    const id = randomBytes(16).toString("hex");
    this.sessions.set(id, { pass: told.pass, subject: told.subject });
    const secure = this.own.startsWith("https:");
    response.cookie(COOKIE, id, { httpOnly: true, sameSite: "lax", secure, path: "/" });
    return away(response, here.href);
  }

  forget(pass) {
    for (const [id, person] of this.sessions) if (person.pass === pass) this.sessions.delete(id);
    this.used.delete(pass);
  }

  // Whoever is done makes room for the next.
  async done(person) {
    this.forget(person.pass);
    // Where this fails, the pass ends by itself, since nobody touches it any more.
    await this.jari.end([person.pass]).catch(() => undefined);
  }

  // Touches the passes that were used, all together, and ends the sessions of those that are not good any more.
  async touch() {
    const used = [...this.used];
    this.used.clear();
    for (let at = 0; at < used.length; at += BATCH_MAX) {
      const batch = used.slice(at, at + BATCH_MAX);
      try {
        for (const pass of await this.jari.touch(batch)) this.forget(pass);
      } catch {
        // They go with the next call: who is inside stays inside while Jari is away.
        for (const pass of batch) this.used.add(pass);
      }
    }
  }
}

// The address on this site that was asked for: "//host/" is a path here, and to `new URL(path, base)` another host.
function hereOn(own, target) {
  if (!target.startsWith("/")) return undefined;
  const { origin } = new URL(own);
  const here = new URL(origin + target);
  return here.origin === origin ? here : undefined;
}

function away(response, to) {
  response.set({ "cache-control": "no-store", "referrer-policy": "no-referrer" });
  response.redirect(303, to);
}

function cookieOf(request) {
  const pairs = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}
