// Changes a limit group's limits, all at once. Its members are the rooms' own definitions.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused } from "./api";
import { Drafts, type Draft } from "./draft";
import { Field } from "./field";
import { stopsOnlyIfMeant, unread } from "./number";
import { say } from "./text";
import { failed } from "./toast";
import type { GroupDefinition } from "./wire";

const FIELDS = ["capacity", "rate_per_s", "burst"] as const;
const DRAFTS = new Drafts(
  (limits: GroupDefinition) => ({ capacity: String(limits.capacity), rate_per_s: String(limits.rate_per_s), burst: String(limits.burst) }),
);

export function GroupForm({ group, done }: { group: string; done: () => void }) {
  const [form, setForm] = useState<Draft<GroupDefinition, (typeof FIELDS)[number]> | undefined>();
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  const path = `groups/${encodeURIComponent(group)}`;
  const read = async () => {
    try {
      const now = await call<GroupDefinition>("GET", path);
      setForm((old) => (old ? DRAFTS.rebased(old, now, true) : DRAFTS.fresh(now)));
    } catch (error) {
      failed(say("change_limits"), error);
    }
  };
  useEffect(() => void read(), [path]);
  if (!form) return <p class="soft">{say("loading")}</p>;
  const { base, texts, known, clashes } = form;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unread(texts))) return;
    const body = { capacity: Number(texts.capacity), rate_per_s: Number(texts.rate_per_s), burst: Number(texts.burst) };
    if (!(await stopsOnlyIfMeant(group, base, body, say("apply")))) return;
    const put = async () => {
      try {
        await call("PUT", path, body, { "if-match": `"${known}"` });
      } catch (error) {
        // Somebody else was quicker: show what is now, keep what was typed.
        if (error instanceof Refused && error.status === 412) await read();
        throw error;
      }
    };
    if (await run(say("change_limits"), put, () => say("done.group", { name: group }))) done();
  };
  return (
    <form onSubmit={submit} class="fields" noValidate>
      {FIELDS.map((name) => (
        <Field
          key={name}
          id={`${group}-${name}`}
          name={say(`field.${name}`)}
          value={texts[name]}
          change={(value) => {
            clear();
            setForm({ ...form, texts: { ...texts, [name]: value } });
          }}
          problem={problems[name]}
          news={clashes[name] && say("clash", { value: clashes[name] })}
          type="number"
          min={0}
          step={name === "rate_per_s" ? "any" : 1}
          changed={texts[name] !== String(base[name])}
        />
      ))}
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("apply")}</button>
      </div>
    </form>
  );
}
