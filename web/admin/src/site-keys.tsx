// The keys that sign one-time tokens for a tenant's sites: which signs, which were replaced, and their ends. Sees no private key.
import { useState } from "preact/hooks";
import { focusOn, useAction } from "./action";
import { call, tenantPath } from "./api";
import { confirmed } from "./confirm";
import { hasCome } from "./feed";
import { OverlapForm } from "./overlap-form";
import { Folded } from "./parts";
import { Unread, useReading } from "./reading";
import { count, dateAndTime, say } from "./text";
import type { SiteKey, SiteKeys } from "./wire";

const isOver = ({ ends_at }: SiteKey): boolean => hasCome(ends_at);

function State({ siteKey }: { siteKey: SiteKey }) {
  const { ends_at, signs, signs_from } = siteKey;
  if (ends_at && isOver(siteKey)) return <span class="badge closed">{say("keys.ended", { time: dateAndTime(ends_at) })}</span>;
  return (
    <span class="row">
      {signs && <span class="badge open">{say("site_keys.signs")}</span>}
      {!signs && !ends_at && <span class="badge">{say("site_keys.signs_from", { time: dateAndTime(signs_from) })}</span>}
      {ends_at && <span class="badge paused">{say("keys.ends", { time: dateAndTime(ends_at) })}</span>}
    </span>
  );
}

function KeyEntry({ tenant, siteKey, again }: { tenant: string; siteKey: SiteKey; again: () => void }) {
  const { id, created_at, ends_at } = siteKey;
  const { busy, run } = useAction();
  const end = async () => {
    const asked = { about: `${id} (${tenant})`, title: say("confirm.end_site_key"), text: say("confirm.at_once_site_key"), yes: say("site_keys.end") };
    if (!(await confirmed(asked))) return;
    const path = tenantPath(tenant, `/site-keys/${encodeURIComponent(id)}`);
    if (!(await run(say("site_keys.end"), () => call("DELETE", path), () => say("done.site_key_ended", { id })))) return;
    again();
    focusOn("site-keys-title");
  };
  return (
    <li class="entry" data-site-key={id}>
      <p class="row between"><code>{id}</code><State siteKey={siteKey} /></p>
      <p class="row between soft small-text">
        <span>{say("keys.made", { time: dateAndTime(created_at) })}</span>
        {ends_at && !isOver(siteKey) && (
          <button type="button" class="quiet small" disabled={busy} aria-label={say("site_keys.end_this", { id })} onClick={end}>
            {say("site_keys.end_ask")}
          </button>
        )}
      </p>
    </li>
  );
}

export function SiteKeysCard({ tenant }: { tenant: string }) {
  const reading = useReading<SiteKeys>(tenantPath(tenant, "/site-keys"));
  const [replacing, replace] = useState(false);
  const action = useAction(["overlap_ms"]);
  const keys = reading.value?.keys;
  const [over, good] = [keys?.filter(isOver) ?? [], keys?.filter((key) => !isOver(key)) ?? []];
  const close = () => {
    replace(false);
    focusOn("replace-site-key");
  };
  const rotate = (body: { overlap_ms?: number }) => {
    const act = async () => {
      reading.settle(await call<SiteKeys>("POST", tenantPath(tenant, "/site-keys/rotate"), body));
      focusOn("site-keys-title");
    };
    return action.run(say("site_keys.title"), act, () => say("done.site_key_made"));
  };
  const entries = (all: SiteKey[]) => (
    <ul class="entries">{all.map((key) => <KeyEntry key={key.id} tenant={tenant} siteKey={key} again={reading.again} />)}</ul>
  );
  return (
    <section class="card" aria-labelledby="site-keys-title" data-card="site-keys">
      <div class="row between">
        <h2 id="site-keys-title" tabIndex={-1}>{say("site_keys.title")}</h2>
        {keys && good.length > 0 && (
          <button id="replace-site-key" type="button" class="quiet small" aria-expanded={replacing} onClick={() => replace(!replacing)}>
            {say("site_keys.replace_ask")}
          </button>
        )}
        {keys && good.length === 0 && (
          <button type="button" class="quiet small" disabled={action.busy} onClick={() => rotate({})}>{say("site_keys.make")}</button>
        )}
      </div>
      <p class="soft small-text">{say("site_keys.text")}</p>
      {replacing && (
        <OverlapForm
          id="site-key"
          about={tenant}
          action={action}
          hint={say("site_keys.overlap_hint")}
          atOnce={say("confirm.at_once_site_key")}
          replace={(overlap_ms) => rotate({ overlap_ms })}
          done={close}
        />
      )}
      <Unread reading={reading} />
      {keys && good.length === 0 && <p class="soft">{say("site_keys.none")}</p>}
      {entries(good)}
      {over.length > 0 && <Folded name={say("keys.over", { n: count(over.length) })}>{entries(over)}</Folded>}
    </section>
  );
}
