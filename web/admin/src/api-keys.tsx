// A tenant's API keys: what its servers and its operators call with. A key itself is shown where it is made, and never again.
import { useState } from "preact/hooks";
import { focusOn, useAction } from "./action";
import { call } from "./api";
import { confirmed } from "./confirm";
import { hasCome } from "./feed";
import { Field } from "./field";
import { OverlapForm } from "./overlap-form";
import { Folded } from "./parts";
import { Unread, useReading } from "./reading";
import { tellOnce } from "./secret";
import { ownKeyId } from "./session";
import { count, dateAndTime, say } from "./text";
import type { ApiKey, ApiKeyCreated, ApiKeys, Scope } from "./wire";

const SCOPES: Scope[] = ["tenant", "admin"];

const keyPath = (id: string, rest = ""): string => `keys/${encodeURIComponent(id)}${rest}`;
const aboutOf = ({ name, id }: ApiKey): string => `${name} (${id})`;

const isOver = ({ revoked_at, expires_at }: ApiKey): boolean => revoked_at !== undefined || hasCome(expires_at);

function NewKey({ tenant, done }: { tenant: string; done: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("tenant");
  const { busy, problems, clear, run } = useAction(["name", "tenant"]);
  const submit = async (event: Event) => {
    event.preventDefault();
    const make = async () => {
      const { id, key } = await call<ApiKeyCreated>("POST", "keys", { tenant, scope, name: name.trim() });
      tellOnce({ about: `${name.trim()} (${id})`, key, back: "new-key" });
    };
    if (await run(say("keys.make"), make, () => say("done.key_made", { name: name.trim() }))) done();
  };
  return (
    <form onSubmit={submit} class="fields inset" noValidate>
      <Field
        id="key-name"
        name={say("field.name")}
        value={name}
        change={(text) => {
          clear();
          setName(text);
        }}
        problem={problems.name ?? problems.tenant}
        hint={say("keys.name_hint")}
      />
      <div class="field">
        <label for="key-scope">{say("field.scope")}</label>
        <select id="key-scope" value={scope} aria-describedby="key-scope-hint" onChange={(event) => setScope(event.currentTarget.value as Scope)}>
          {SCOPES.map((one) => <option key={one} value={one}>{say(`scope.${one}`)}</option>)}
        </select>
        <p id="key-scope-hint" class={scope === "admin" ? "hint" : "soft small-text"}>{say(`scope.${scope}.hint`)}</p>
      </div>
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("keys.make")}</button>
      </div>
    </form>
  );
}

function State({ apiKey }: { apiKey: ApiKey }) {
  const { revoked_at, expires_at } = apiKey;
  if (revoked_at) return <span class="badge closed">{say("keys.revoked", { time: dateAndTime(revoked_at) })}</span>;
  if (!expires_at) return <span class="badge open">{say("keys.good")}</span>;
  if (isOver(apiKey)) return <span class="badge closed">{say("keys.ended", { time: dateAndTime(expires_at) })}</span>;
  return <span class="badge paused">{say("keys.ends", { time: dateAndTime(expires_at) })}</span>;
}

function KeyEntry({ apiKey, again }: { apiKey: ApiKey; again: () => void }) {
  const { id, name, scope, created_at, last_used_at } = apiKey;
  const [replacing, replace] = useState(false);
  const action = useAction(["overlap_ms"]);
  const about = aboutOf(apiKey);
  const own = id === ownKeyId();
  const close = () => {
    replace(false);
    focusOn(`replace-${id}`);
  };
  const rotate = (overlap_ms: number) => {
    const act = async () => {
      const made = await call<ApiKeyCreated>("POST", keyPath(id, "/rotate"), { overlap_ms });
      again();
      tellOnce({ about: `${name} (${made.id})`, key: made.key, back: "keys-title" });
    };
    return action.run(say("keys.replace"), act, () => say("done.key_replaced", { name }));
  };
  const revoke = async () => {
    if (!(await confirmed({ about, title: say("confirm.revoke_key"), text: say("confirm.revoke_key_text"), yes: say("keys.revoke") }))) return;
    const told = () => say("done.key_revoked", { name });
    if (!(await action.run(say("keys.revoke"), () => call("DELETE", keyPath(id)), told))) return;
    again();
    focusOn("keys-title");
  };
  return (
    <li class="entry" data-key={id}>
      <p class="row between"><b>{own ? say("audit.you", { name }) : name}</b><State apiKey={apiKey} /></p>
      <p class="soft small-text">
        {id} · {say(`scope.${scope}`)} · {say("keys.made", { time: dateAndTime(created_at) })} ·{" "}
        {last_used_at ? say("keys.used", { time: dateAndTime(last_used_at) }) : say("keys.unused")}
      </p>
      {!isOver(apiKey) && (
        <p class="row">
          <button
            id={`replace-${id}`}
            type="button"
            class="quiet small"
            aria-expanded={replacing}
            aria-label={say("keys.replace_this", { name: about })}
            onClick={() => replace(!replacing)}
          >
            {say("keys.replace_ask")}
          </button>
          {own ? (
            <span class="soft small-text">{say("keys.own")}</span>
          ) : (
            <button type="button" class="quiet small" disabled={action.busy} aria-label={say("keys.revoke_this", { name: about })} onClick={revoke}>
              {say("keys.revoke_ask")}
            </button>
          )}
        </p>
      )}
      {replacing && (
        <OverlapForm
          id={id}
          about={about}
          action={action}
          hint={say("keys.overlap_hint")}
          atOnce={say("confirm.at_once_key")}
          replace={rotate}
          done={close}
        />
      )}
    </li>
  );
}

export function ApiKeysCard({ tenant }: { tenant: string }) {
  const reading = useReading<ApiKeys>("keys");
  const [making, make] = useState(false);
  const keys = reading.value?.keys.filter((key) => key.tenant === tenant);
  const [over, good] = [keys?.filter(isOver) ?? [], keys?.filter((key) => !isOver(key)) ?? []];
  const entries = (all: ApiKey[]) => <ul class="entries">{all.map((key) => <KeyEntry key={key.id} apiKey={key} again={reading.again} />)}</ul>;
  const close = () => {
    make(false);
    reading.again();
    focusOn("new-key");
  };
  return (
    <section class="card" aria-labelledby="keys-title" data-card="keys">
      <div class="row between">
        <h2 id="keys-title" tabIndex={-1}>{say("keys.title")}</h2>
        <button id="new-key" type="button" class="quiet small" aria-expanded={making} onClick={() => make(!making)}>{say("keys.make_ask")}</button>
      </div>
      <p class="soft small-text">{say("keys.text")}</p>
      {making && <NewKey tenant={tenant} done={close} />}
      <Unread reading={reading} />
      {keys && good.length === 0 && <p class="soft">{say("keys.none")}</p>}
      {entries(good)}
      {over.length > 0 && <Folded name={say("keys.over", { n: count(over.length) })}>{entries(over)}</Folded>}
    </section>
  );
}
