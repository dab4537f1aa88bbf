// Changes a limit group's limits, all at once. Its members are the rooms' own definitions.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call } from "./api";
import { Field } from "./field";
import { say } from "./text";
import { failed } from "./toast";
import type { GroupDefinition } from "./wire";

const FIELDS = ["capacity", "rate_per_s", "burst"] as const;
type Name = (typeof FIELDS)[number];

export function GroupForm({ group, done }: { group: string; done: () => void }) {
  const [version, setVersion] = useState(0);
  const [draft, setDraft] = useState<Record<Name, string> | undefined>();
  const { busy, problems, run } = useAction(FIELDS);
  const path = `groups/${encodeURIComponent(group)}`;
  useEffect(() => {
    const show = (limits: GroupDefinition) => {
      setVersion(limits.version);
      setDraft({ capacity: String(limits.capacity), rate_per_s: String(limits.rate_per_s), burst: String(limits.burst) });
    };
    call<GroupDefinition>("GET", path).then(show, (error: unknown) => failed(say("change_limits"), error));
  }, [path]);
  if (!draft) return <p class="soft">{say("loading")}</p>;
  const submit = async (event: Event) => {
    event.preventDefault();
    const body = { capacity: Number(draft.capacity), rate_per_s: Number(draft.rate_per_s), burst: Number(draft.burst) };
    const put = () => call("PUT", path, body, { "if-match": `"${version}"` });
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
          change={(value) => setDraft({ ...draft, [name]: value })}
          problem={problems[name]}
          type="number"
          min={0}
          step={name === "rate_per_s" ? "any" : 1}
        />
      ))}
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("apply")}</button>
      </div>
    </form>
  );
}
