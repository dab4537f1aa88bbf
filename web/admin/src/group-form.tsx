// Changes a limit group's limits, all at once. Its members are the rooms' own definitions.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused } from "./api";
import { Field } from "./field";
import { stopsOnlyIfMeant, unread } from "./number";
import { say } from "./text";
import { failed } from "./toast";
import type { GroupDefinition } from "./wire";

const FIELDS = ["capacity", "rate_per_s", "burst"] as const;
type Draft = Record<(typeof FIELDS)[number], string>;

interface Form {
  base: GroupDefinition;
  draft: Draft;
  // What another has set meanwhile in a field that was typed into.
  clashes: Partial<Draft>;
}

const draftOf = (limits: GroupDefinition): Draft =>
  Object.fromEntries(FIELDS.map((name) => [name, String(limits[name])])) as Draft;

// What was typed stays, the rest is as it is now.
function rebased(form: Form | undefined, now: GroupDefinition): Form {
  const is = draftOf(now);
  if (!form) return { base: now, draft: is, clashes: {} };
  const was = draftOf(form.base);
  const [draft, clashes] = [{ ...form.draft }, { ...form.clashes }];
  for (const name of FIELDS) {
    if (draft[name] === was[name]) draft[name] = is[name];
    else if (is[name] !== was[name]) clashes[name] = is[name];
    if (draft[name] === is[name]) delete clashes[name];
  }
  return { base: now, draft, clashes };
}

export function GroupForm({ group, done }: { group: string; done: () => void }) {
  const [form, setForm] = useState<Form | undefined>();
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  const path = `groups/${encodeURIComponent(group)}`;
  const read = async () => {
    try {
      const now = await call<GroupDefinition>("GET", path);
      setForm((old) => rebased(old, now));
    } catch (error) {
      failed(say("change_limits"), error);
    }
  };
  useEffect(() => void read(), [path]);
  if (!form) return <p class="soft">{say("loading")}</p>;
  const { base, draft, clashes } = form;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unread(draft))) return;
    const body = { capacity: Number(draft.capacity), rate_per_s: Number(draft.rate_per_s), burst: Number(draft.burst) };
    if (!(await stopsOnlyIfMeant(group, base, body, say("apply")))) return;
    const put = async () => {
      try {
        await call("PUT", path, body, { "if-match": `"${base.version}"` });
      } catch (error) {
        // Somebody else was quicker: show what is now, keep what was typed.
        if (error instanceof Refused && error.status === 412) await read();
        throw error;
      }
    };
    if (await run(say("done.group", { name: group }), put)) done();
  };
  return (
    <form onSubmit={submit} class="fields" noValidate>
      {FIELDS.map((name) => (
        <Field
          key={name}
          id={`${group}-${name}`}
          name={say(`field.${name}`)}
          value={draft[name]}
          change={(value) => {
            clear();
            setForm({ ...form, draft: { ...draft, [name]: value } });
          }}
          problem={problems[name]}
          news={clashes[name] && say("clash", { value: clashes[name] })}
          type="number"
          min={0}
          step={name === "rate_per_s" ? "any" : 1}
          changed={draft[name] !== String(base[name])}
        />
      ))}
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("apply")}</button>
      </div>
    </form>
  );
}
