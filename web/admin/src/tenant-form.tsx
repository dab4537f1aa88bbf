// What a tenant is called and allowed: name, limits, and the addresses that visitors may be led to and pages may call from.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused, tenantPath } from "./api";
import { Drafts, type Draft } from "./draft";
import { Field } from "./field";
import { ListField } from "./list-field";
import { typed } from "./number";
import { say } from "./text";
import type { Tenant } from "./wire";

const LIMITS = ["rooms_max", "joins_per_minute", "entries_per_minute"] as const;
const LISTS = ["return_urls", "cors_origins"] as const;
const FIELDS = ["name", ...LIMITS, ...LISTS] as const;
type Name = (typeof FIELDS)[number];
type Texts = Record<Name, string>;

// A list is one text while it is typed over: each row ends with a line break, so that an empty row is one as well.
const joined = (rows: string[]): string => rows.map((row) => `${row}\n`).join("");
const rowsOf = (text: string): string[] => text.split("\n").slice(0, -1);
const filled = (text: string): string[] => rowsOf(text).map((row) => row.trim()).filter(Boolean);

const DRAFTS = new Drafts<Tenant, Name>((tenant) => ({
  name: tenant.name,
  rooms_max: String(tenant.rooms_max),
  joins_per_minute: String(tenant.joins_per_minute),
  entries_per_minute: String(tenant.entries_per_minute),
  return_urls: joined(tenant.return_urls),
  cors_origins: joined(tenant.cors_origins),
}));

const bodyOf = (texts: Texts) => ({
  name: texts.name.trim(),
  rooms_max: Number(texts.rooms_max),
  joins_per_minute: Number(texts.joins_per_minute),
  entries_per_minute: Number(texts.entries_per_minute),
  return_urls: filled(texts.return_urls),
  cors_origins: filled(texts.cors_origins),
});

// What cannot be sent at all, by field.
function unsendable(texts: Texts): Record<string, string> {
  const wrong = LIMITS.filter((name) => !Number.isSafeInteger(typed(texts[name])) || Number(texts[name]) < 0);
  return Object.fromEntries(wrong.map((name) => [name, say("error.whole")]));
}

interface TenantFormProps {
  tenant: Tenant;
  // The server's answer to a change.
  settle: (now: Tenant) => void;
}

export function TenantForm({ tenant, settle }: TenantFormProps) {
  const [form, setForm] = useState<Draft<Tenant, Name>>(() => DRAFTS.fresh(tenant));
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  // Another operator's change is shown at once, but never under the fingers of who is typing.
  useEffect(() => setForm((old) => DRAFTS.rebased(old, tenant, false)), [tenant.version]);
  const { base, texts, known, clashes } = form;
  const was = DRAFTS.textsOf(base);
  const dirty = FIELDS.some((name) => texts[name] !== was[name]);
  const set = (name: Name, text: string) => {
    clear();
    setForm((old) => ({ ...old, texts: { ...old.texts, [name]: text } }));
  };
  const undo = () => {
    clear();
    setForm(DRAFTS.fresh(base));
  };
  const put = async () => {
    const path = tenantPath(tenant.tenant);
    try {
      const now = await call<Tenant>("PUT", path, bodyOf(texts), { "if-match": `"${known}"` });
      setForm((old) => DRAFTS.applied(old, texts, now));
      settle(now);
    } catch (error) {
      // Somebody else was quicker: show what is now, keep what was typed.
      if (error instanceof Refused && error.status === 412) {
        const now = await call<Tenant>("GET", path);
        setForm((old) => DRAFTS.rebased(old, now, true));
      }
      throw error;
    }
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unsendable(texts))) return;
    await run(say("tenant.title"), put, () => say("done.tenant", { name: texts.name.trim() }));
  };
  const newsOf = (name: Name): string | undefined => {
    const now = clashes[name];
    if (now === undefined) return undefined;
    const list = LISTS.some((list) => list === name);
    return say("clash", { value: list ? rowsOf(now).join(", ") || say("none") : now });
  };
  const about = (name: Name) => ({
    id: `tenant-${name}`,
    name: say(`field.${name}`),
    problem: problems[name],
    news: newsOf(name),
    changed: texts[name] !== was[name],
  });
  return (
    <section class="card" aria-labelledby="tenant-form-title">
      <h2 id="tenant-form-title">{say("tenant.title")}</h2>
      <form onSubmit={submit} class="fields" noValidate>
        <Field {...about("name")} value={texts.name} change={(text) => set("name", text)} />
        {LIMITS.map((name) => (
          <Field
            key={name}
            {...about(name)}
            value={texts[name]}
            change={(text) => set(name, text)}
            type="number"
            min={0}
            step={1}
            hint={say(`hint.${name}`)}
          />
        ))}
        {LISTS.map((name) => (
          <ListField
            key={name}
            {...about(name)}
            rows={rowsOf(texts[name])}
            change={(rows) => set(name, joined(rows))}
            hint={say(`hint.${name}`)}
            none={say(`none.${name}`)}
          />
        ))}
        <div class="row end">
          {dirty && <span class="soft small-text grow">{say("speed.unsaved")}</span>}
          <button type="button" class="quiet" disabled={!dirty} onClick={undo}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("apply")}</button>
        </div>
      </form>
    </section>
  );
}
