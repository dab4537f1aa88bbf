// The page as a whole: who is signed in, which view is shown, how the connection is. Shows no room by itself.
import { useEffect, useRef, useState } from "preact/hooks";
import { alarmsOf, inOrder, type Alarm } from "./alarms";
import { Audit } from "./audit";
import { Confirm } from "./confirm";
import { feed, type Connection } from "./feed";
import { Overview } from "./overview";
import { RoomView } from "./room-view";
import { SecretOnce } from "./secret";
import { session, signOut } from "./session";
import { SignIn } from "./sign-in";
import { useStore } from "./store";
import { TenantView } from "./tenant-view";
import { TenantList } from "./tenants";
import { clock, language, say, speak } from "./text";
import { forgetFailures, Toasts } from "./toast";

type Route = { view: "rooms" | "tenants" | "audit" } | { view: "room" | "tenant"; id: string };

// Views by their place in the menu; those of one thing set the page's title themselves.
const MENU = [
  { view: "rooms", of: "room", name: "rooms", title: "rooms" },
  { view: "tenants", of: "tenant", name: "tenants", title: "tenants" },
  { view: "audit", of: undefined, name: "audit.short", title: "audit.title" },
] as const;

function routeOf(hash: string): Route {
  const [view, id] = hash.replace(/^#\/?/, "").split("/");
  if (view === "audit") return { view };
  if (view === "rooms" && id) return { view: "room", id };
  if (view === "tenants") return id ? { view: "tenant", id } : { view };
  return { view: "rooms" };
}

function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return routeOf(hash);
}

function LanguageSwitch() {
  const other = language.value === "ko" ? "en" : "ko";
  return (
    <button type="button" class="quiet small" lang={other} onClick={() => speak(other)}>
      {other === "ko" ? "한국어" : "English"}
    </button>
  );
}

function Link({ connection, at, restarts }: { connection: Connection; at: string | undefined; restarts: number }) {
  const [restarted, setRestarted] = useState(false);
  useEffect(() => {
    if (restarts === 0) return;
    setRestarted(true);
    const timer = setTimeout(() => setRestarted(false), 20_000);
    return () => clearTimeout(timer);
  }, [restarts]);
  const words = restarted && connection === "live" ? say("link.restarted") : say(`link.${connection}`);
  return (
    <p class={`link ${connection}`} data-connection={connection}>
      <span role="status">{words}</span>
      {at && <time datetime={at}>{clock(at)}</time>}
    </p>
  );
}

// An alarm that comes and goes with every second would move the whole page: it stays for so long after it was last true.
const LINGER_MS = 8_000;

function lingering(seen: Map<string, { alarm: Alarm; at: number }>, alarms: Alarm[], now: number): Alarm[] {
  for (const alarm of alarms) seen.set(alarm.id, { alarm, at: now });
  for (const [id, { at }] of seen) if (now - at > LINGER_MS) seen.delete(id);
  return inOrder([...seen.values()].map(({ alarm }) => alarm));
}

function Alarms() {
  const { frame } = useStore(feed);
  const told = useRef(new Set<string>());
  const [news, setNews] = useState("");
  const seen = useRef(new Map<string, { alarm: Alarm; at: number }>());
  const alarms = lingering(seen.current, frame ? alarmsOf(frame) : [], frame ? Date.parse(frame.at) : 0);
  const ids = alarms.map(({ id }) => id).join();
  useEffect(() => {
    // Said once when they begin; the list itself changes every second and is not read aloud.
    const fresh = alarms.filter(({ id, grave }) => grave !== "info" && !told.current.has(id));
    told.current = new Set(alarms.map(({ id }) => id));
    if (fresh.length > 0) setNews(fresh.map(({ text }) => text).join(" "));
  }, [ids]);
  return (
    <>
      <p class="heard" role="alert">{news}</p>
      {alarms.length > 0 && (
        <ul class="alarms" aria-label={say("alarms")}>
          {alarms.map(({ id, grave, room, text }) => (
            <li key={id} class={grave} data-alarm={id}>
              <span aria-hidden="true">{grave === "info" ? "i" : "!"}</span>
              {room ? <a href={`#/rooms/${room}`}>{text}</a> : text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Console() {
  const route = useRoute();
  const { connection, frame, restarts } = useStore(feed);
  const main = useRef<HTMLElement>(null);
  const shown = "id" in route ? `${route.view}/${route.id}` : route.view;
  const first = useRef(true);
  useEffect(() => {
    const listed = MENU.find(({ view }) => view === route.view);
    if (listed) document.title = `${say(listed.title)} · ${say("brand")}`;
  }, [shown, language.value]);
  useEffect(() => {
    // Who came by a link reads on where the new view begins.
    if (!first.current) main.current?.focus();
    first.current = false;
    forgetFailures();
    scrollTo(0, 0);
  }, [shown]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>{say("skip")}</a>
      <header class="top">
        <a class="brand" href="#/">{say("brand")}</a>
        <nav aria-label={say("menu")}>
          {MENU.map(({ view, of, name }) => (
            <a key={view} href={view === "rooms" ? "#/" : `#/${view}`} aria-current={route.view === view || route.view === of ? "page" : undefined}>{say(name)}</a>
          ))}
        </nav>
        <Link connection={connection} at={frame?.at} restarts={restarts} />
        <div class="row tools">
          <LanguageSwitch />
          <button type="button" class="quiet small" onClick={() => signOut()}>{say("sign_out")}</button>
        </div>
      </header>
      <main ref={main} id="main" tabIndex={-1} class={connection === "live" ? "" : "stale"}>
        <Alarms />
        {route.view === "rooms" && <Overview />}
        {route.view === "room" && <RoomView key={route.id} id={route.id} />}
        {route.view === "tenants" && <TenantList />}
        {route.view === "tenant" && <TenantView key={route.id} id={route.id} />}
        {route.view === "audit" && <Audit />}
      </main>
      <footer><a href="/admin/licenses.txt">{say("licenses")}</a></footer>
      <Confirm />
      <SecretOnce />
      <Toasts />
    </>
  );
}

export function App() {
  const { key } = useStore(session);
  const spoken = useStore(language);
  useEffect(() => {
    document.documentElement.lang = spoken;
  }, [spoken]);
  // Drawn again in another language, not made anew: what was typed stays.
  if (key !== undefined) return <Console />;
  return (
    <>
      <header class="top">
        <p class="brand">{say("brand")}</p>
        <div class="row tools"><LanguageSwitch /></div>
      </header>
      <SignIn />
    </>
  );
}
