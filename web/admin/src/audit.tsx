// Who did what: the trail of one room, of one tenant or of everything, newest first. Nothing in it can be changed from here.
import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "./api";
import { difference } from "./difference";
import { feed } from "./feed";
import { paced } from "./paced";
import { ownKeyId } from "./session";
import { useStore } from "./store";
import { moment, say, sayOr } from "./text";
import { failed } from "./toast";
import type { ApiKeys, AuditEntry, AuditPage } from "./wire";

const PAGE = 20;
// Other nodes' changes come to the eye without a frame that tells of them.
const AGAIN_MS = 15_000;
// However many changes come in, the trail is read at most so often.
const EVERY_MS = 1_000;
// So far the newest entries are followed down to those shown already; beyond, the trail begins anew.
const MEET_PAGES = 10;

// Keys change seldom: they are read when one turns up that is not known yet.
let keyNames: Record<string, string> = {};
const askedFor = new Set<string>();

const keyIdOf = ({ actor }: AuditEntry): string | undefined => (actor.startsWith("key:") ? actor.slice(4) : undefined);

async function loadKeyNames(entries: AuditEntry[]): Promise<void> {
  const ids = entries.map(keyIdOf).filter((id) => id !== undefined && !(id in keyNames) && !askedFor.has(id)) as string[];
  if (ids.length === 0) return;
  const { keys } = await call<ApiKeys>("GET", "keys");
  keyNames = Object.fromEntries(keys.map(({ id, name }) => [id, name]));
  // One that is not among them is shown as its id, and not asked for again.
  for (const id of ids) askedFor.add(id);
}

function actorOf(entry: AuditEntry): string {
  const id = keyIdOf(entry);
  if (id === undefined) return sayOr(`actor.${entry.actor}`, entry.actor);
  const name = keyNames[id] ?? entry.actor;
  return id === ownKeyId() ? say("audit.you", { name }) : name;
}

// A setting's name by its own words, else as the API calls it.
const fieldOf = (field: string): string => sayOr(`field.${field.replace(/^settings\./, "")}`, field);

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const valueOf = (value: string): string => (ISO.test(value) ? moment(value) : value === "" ? "∅" : value);

// An order that failed is followed by an entry of this kind, which names it.
const FAILED = ".failed";

function actionOf({ action }: AuditEntry): string {
  const ordered = action.endsWith(FAILED) ? action.slice(0, -FAILED.length) : action;
  const said = sayOr(`action.${ordered}`, ordered);
  return ordered === action ? said : say("audit.failed", { action: said });
}

function Entry({ entry, own }: { entry: AuditEntry; own: boolean }) {
  const changes = difference(entry.before, entry.after);
  const made = entry.action.endsWith(".create") || entry.action.endsWith(".delete");
  return (
    <li class="entry" data-action={entry.action}>
      <p class="row between">
        <b>{actionOf(entry)}</b>
        <time datetime={entry.at} class="soft small-text">{moment(entry.at)}</time>
      </p>
      <p class="soft small-text">
        {actorOf(entry)}
        {!own && ` · ${entry.target}`}
      </p>
      {!made && changes.length > 0 && (
        <dl class="changes">
          {changes.map(({ field, before, after }) => (
            <div key={field}>
              <dt>{field === "" ? say("audit.value") : fieldOf(field)}</dt>
              <dd>
                {before !== undefined && <del aria-label={say("audit.before", { value: valueOf(before) })}>{valueOf(before)}</del>}
                {before !== undefined && " → "}
                {after === undefined ? <ins>–</ins> : <ins>{valueOf(after)}</ins>}
              </dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}

interface Trail {
  entries: AuditEntry[];
  // Where it goes on further down.
  next?: number | undefined;
}

async function pageOf(target: string | undefined, before?: number): Promise<Trail> {
  const query = new URLSearchParams({ limit: String(PAGE) });
  if (target) query.set("target", target);
  if (before !== undefined) query.set("before_no", String(before));
  const { entries, next_before_no } = await call<AuditPage>("GET", `audit?${query}`);
  return { entries, next: next_before_no };
}

const lowest = ({ entries }: Trail): number => entries.at(-1)?.no ?? 0;

// The newest entries, read on until they meet the one that is shown as the newest.
async function newestOf(target: string | undefined, shown: number | undefined): Promise<Trail> {
  let trail = await pageOf(target);
  for (let pages = 1; shown !== undefined && lowest(trail) > shown && trail.next !== undefined && pages < MEET_PAGES; pages += 1) {
    const { entries, next } = await pageOf(target, trail.next);
    trail = { entries: [...trail.entries, ...entries], next };
  }
  return trail;
}

// What was read before stays below, so that the page does not jump under who reads on; never with a hole between.
function joined(newest: Trail, old: Trail | undefined): Trail {
  const last = lowest(newest);
  const older = old?.entries.filter(({ no }) => no < last) ?? [];
  const meet = last <= (old?.entries[0]?.no ?? 0);
  return meet && older.length > 0 ? { entries: [...newest.entries, ...older], next: old?.next } : newest;
}

// `target` as entries name it: `room:shop`, `tenant:opera`.
export function Audit({ target }: { target?: string }) {
  const { frame } = useStore(feed);
  const [trail, setTrail] = useState<Trail | undefined>();
  const shown = useRef<number | undefined>(undefined);
  shown.current = trail?.entries[0]?.no;
  const again = useRef<() => void>(() => undefined);
  const changes = frame?.changes;
  useEffect(() => {
    let gone = false;
    again.current = paced(async () => {
      if (gone) return;
      const newest = await newestOf(target, shown.current);
      await loadKeyNames(newest.entries).catch(() => undefined); // Ids are names enough until the next time.
      if (!gone) setTrail((old) => joined(newest, old));
    }, EVERY_MS);
    const timer = setInterval(() => again.current(), AGAIN_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [target]);
  useEffect(() => again.current(), [target, changes]);
  const more = async () => {
    if (!trail) return;
    try {
      const older = await pageOf(target, trail.next);
      await loadKeyNames(older.entries).catch(() => undefined);
      // Unless the trail began anew meanwhile: these would not go on where it ends.
      setTrail((old) => (old && lowest(old) === lowest(trail) ? { ...older, entries: [...old.entries, ...older.entries] } : old));
    } catch (error) {
      failed(say("audit.title"), error);
    }
  };
  return (
    <section class="card" aria-labelledby="audit-title">
      {target ? <h2 id="audit-title">{say("audit.title")}</h2> : <h1 id="audit-title">{say("audit.title")}</h1>}
      {!trail && <p class="soft">{say("loading")}</p>}
      {trail?.entries.length === 0 && <p class="soft">{say("audit.none")}</p>}
      <ol class="entries">{trail?.entries.map((entry) => <Entry key={entry.no} entry={entry} own={target !== undefined} />)}</ol>
      {trail?.next !== undefined && <button type="button" class="quiet" onClick={more}>{say("audit.more")}</button>}
    </section>
  );
}
