// A key in place of another: for how long the old one stays good beside it. Whose key it is and what is sent, its caller knows.
import { useState } from "preact/hooks";
import type { Action } from "./action";
import { confirmed } from "./confirm";
import { Field } from "./field";
import { HOUR_MS, typed, unread } from "./number";
import { say } from "./text";

// Every server of a site is deployed within a day.
const HOURS = "24";

interface OverlapFormProps {
  id: string;
  // Whose key it is, as its operator knows it.
  about: string;
  action: Action;
  hint: string;
  // What it means that the old key ends at once.
  atOnce: string;
  replace: (overlapMs: number) => Promise<boolean>;
  done: () => void;
}

export function OverlapForm({ id, about, action, hint, atOnce, replace, done }: OverlapFormProps) {
  const [hours, setHours] = useState(HOURS);
  const { busy, problems, clear, wrong } = action;
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unread({ overlap_ms: hours }))) return;
    const overlap = Math.round((typed(hours) ?? 0) * HOUR_MS);
    if (overlap < 0) {
      wrong({ overlap_ms: say("error.not_negative") });
      return;
    }
    if (overlap === 0 && !(await confirmed({ about, title: say("confirm.at_once"), text: atOnce, yes: say("keys.replace") }))) return;
    if (await replace(overlap)) done();
  };
  return (
    <form onSubmit={submit} class="fields inset" noValidate>
      <Field
        id={`overlap-${id}`}
        name={say("keys.overlap")}
        value={hours}
        change={(value) => {
          clear();
          setHours(value);
        }}
        problem={problems.overlap_ms}
        hint={hint}
        type="number"
        min={0}
        step="any"
        unit={say("unit.h")}
      />
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="primary" disabled={busy}>{say("keys.replace")}</button>
      </div>
    </form>
  );
}
