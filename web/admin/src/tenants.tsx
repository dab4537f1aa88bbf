// All tenants at a glance, and a form that makes one. What one of them has is in its own view.
import { useState } from "preact/hooks";
import { focusOn, useAction } from "./action";
import { call, Refused, tenantPath } from "./api";
import { Field } from "./field";
import { Figure } from "./parts";
import { Unread, useReading } from "./reading";
import { count, say } from "./text";
import type { Tenant, Tenants } from "./wire";

// A version that none has: what is there already is left alone.
const NEW = { "if-match": '"0"' };

// A tenant of that id that is there already is no conflict of two changes.
function taken(error: unknown): unknown {
  if (!(error instanceof Refused) || error.status !== 412) return error;
  return new Refused(error.status, error.code, "tenant", say("tenants.taken"), undefined);
}

function NewTenant({ done }: { done: () => void }) {
  const [id, setId] = useState("");
  const [name, setName] = useState("");
  const { busy, problems, clear, wrong, run } = useAction(["tenant", "name"]);
  const typing = (set: (text: string) => void) => (text: string) => {
    clear();
    set(text);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const tenant = id.trim();
    if (wrong(tenant === "" ? { tenant: say("error.empty") } : {})) return;
    const make = async () => {
      try {
        await call<Tenant>("PUT", tenantPath(tenant), { name: name.trim() }, NEW);
      } catch (error) {
        throw taken(error);
      }
    };
    if (await run(say("tenants.new"), make, () => say("done.tenant_made", { name: name.trim() }))) location.hash = `#/tenants/${tenant}`;
  };
  return (
    <form onSubmit={submit} class="card fields" noValidate aria-labelledby="new-tenant-title">
      <h2 id="new-tenant-title">{say("tenants.new")}</h2>
      <Field id="new-tenant-id" name={say("field.tenant")} value={id} change={typing(setId)} problem={problems.tenant} hint={say("hint.tenant")} />
      <Field id="new-tenant-name" name={say("field.name")} value={name} change={typing(setName)} problem={problems.name} hint={say("hint.name")} />
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("tenants.make")}</button>
      </div>
    </form>
  );
}

const limit = (n: number): string => (n === 0 ? say("no_limit") : count(n));

function Card({ tenant }: { tenant: Tenant }) {
  return (
    <li class="card" data-tenant={tenant.tenant}>
      <h2><a href={`#/tenants/${tenant.tenant}`}>{tenant.name}</a></h2>
      <p class="soft small-text">{tenant.tenant}</p>
      <dl class="figures tight">
        <Figure name={say("rooms")} value={count(tenant.rooms.length)} note={say("at_most", { n: count(tenant.rooms_max) })} />
        <Figure name={say("field.joins_per_minute")} value={limit(tenant.joins_per_minute)} />
        <Figure name={say("field.entries_per_minute")} value={limit(tenant.entries_per_minute)} />
      </dl>
    </li>
  );
}

export function TenantList() {
  const reading = useReading<Tenants>("tenants");
  const [making, make] = useState(false);
  const tenants = reading.value?.tenants;
  const close = () => {
    make(false);
    focusOn("new-tenant");
  };
  return (
    <>
      <div class="row between">
        <h1>{say("tenants")}</h1>
        <button id="new-tenant" type="button" class="quiet" aria-expanded={making} onClick={() => make(!making)}>{say("tenants.new_ask")}</button>
      </div>
      <p class="soft">{say("tenants.text")}</p>
      {making && <NewTenant done={close} />}
      <Unread reading={reading} />
      {tenants?.length === 0 && <p class="soft">{say("tenants.none")}</p>}
      {tenants && tenants.length > 0 && <ul class="cards">{tenants.map((tenant) => <Card key={tenant.tenant} tenant={tenant} />)}</ul>}
    </>
  );
}
