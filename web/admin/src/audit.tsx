// Who did what: the trail of one room or of everything, newest first. Nothing in it can be changed from here.
import { useEffect, useState } from "preact/hooks";
import { call } from "./api";
import { difference } from "./difference";
import { feed } from "./feed";
import { ownKeyId } from "./session";
import { useStore } from "./store";
import { moment, say, sayOr } from "./text";
import { failed } from "./toast";
import type { ApiKeys, AuditEntry, AuditPage } from "./wire";

const PAGE = 20;
// Other nodes' changes come to the eye without a frame that tells of them.
const AGAIN_MS = 15_000;
// Keys change seldom; a name that is not known yet is shown as its id.
let keyNames: Record<string, string> = {};

async function loadKeyNames(): Promise<void> {
  const { keys } = await call<ApiKeys>("GET", "keys");
  keyNames = Object.fromEntries(keys.map(({ id, name }) => [id, name]));
}

function actorOf(entry: AuditEntry): string {
  const id = entry.actor.startsWith("key:") ? entry.actor.slice(4) : undefined;
  if (id === undefined) return sayOr(`actor.${entry.actor}`, entry.actor);
  const name = keyNames[id] ?? entry.actor;
  return id === ownKeyId() ? say("audit.you", { name }) : name;
}

// A setting's name by its own words, else as the API calls it.
const fieldOf = (field: string): string => sayOr(`field.${field.replace(/^settings\./, "")}`, field);

const ISO = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;
const valueOf = (value: string): string => (ISO.test(value) ? moment(value) : value === "" ? "∅" : value);

function Entry({ entry, own }: { entry: AuditEntry; own: boolean }) {
  const changes = difference(entry.before, entry.after);
  const made = entry.action.endsWith(".create") || entry.action.endsWith(".delete");
  return (
    <li class="entry" data-action={entry.action}>
      <p class="row between">
        <b>{sayOr(`action.${entry.action}`, entry.action)}</b>
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

export function Audit({ room }: { room?: string }) {
  const { frame } = useStore(feed);
  const [entries, setEntries] = useState<AuditEntry[]>([]);
  const [next, setNext] = useState<number | undefined>();
  const [loaded, setLoaded] = useState(false);
  const changes = frame?.changes;
  const page = (before?: number) => {
    const query = new URLSearchParams({ limit: String(PAGE) });
    if (room) query.set("target", `room:${room}`);
    if (before !== undefined) query.set("before_no", String(before));
    return call<AuditPage>("GET", `audit?${query}`);
  };
  useEffect(() => {
    let gone = false;
    const load = async () => {
      const [{ entries: newest, next_before_no }] = await Promise.all([page(), loadKeyNames()]);
      if (gone) return;
      // What was read before stays below, so that the page does not jump under who reads on.
      setEntries((old) => {
        const last = newest.at(-1)?.no ?? 0;
        const older = old.filter(({ no }) => no < last);
        if (older.length === 0 || newest.length < PAGE) setNext(next_before_no);
        return [...newest, ...older];
      });
      setLoaded(true);
    };
    // A trail that cannot be read now is read with the next change or in a moment.
    const quietly = () => void load().catch(() => undefined);
    quietly();
    const timer = setInterval(quietly, AGAIN_MS);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [room, changes]);
  const more = async () => {
    try {
      const { entries: older, next_before_no } = await page(next);
      setEntries((old) => [...old, ...older]);
      setNext(next_before_no);
    } catch (error) {
      failed(say("audit.title"), error);
    }
  };
  return (
    <section class="card" aria-labelledby="audit-title">
      {room ? <h2 id="audit-title">{say("audit.title")}</h2> : <h1 id="audit-title">{say("audit.title")}</h1>}
      {!loaded && <p class="soft">{say("loading")}</p>}
      {loaded && entries.length === 0 && <p class="soft">{say("audit.none")}</p>}
      <ol class="entries">{entries.map((entry) => <Entry key={entry.no} entry={entry} own={room !== undefined} />)}</ol>
      {next !== undefined && <button type="button" class="quiet" onClick={more}>{say("audit.more")}</button>}
    </section>
  );
}
