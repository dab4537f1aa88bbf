// Carries out what an operator asked for: says how it went, and what was wrong with which field.
import { useState } from "preact/hooks";
import { Refused } from "./api";
import { problemOf } from "./problem";
import { failed, forgetFailures, succeeded } from "./toast";

export interface Action {
  busy: boolean;
  // What the server found wrong, by field.
  problems: Record<string, string>;
  clear: () => void;
  // Whether the page itself found something wrong: it is shown at its fields, and nothing should be sent.
  wrong: (found: Record<string, string>) => boolean;
  // Whether it was done.
  run: (what: string, act: () => Promise<unknown>, done?: (answer: unknown) => string) => Promise<boolean>;
}

// Once it is drawn: who has to mend a field should be in it.
const focusWrong = () => setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());

// The same for whoever finished something whose button or form is gone.
export const focusOn = (id: string) => setTimeout(() => document.getElementById(id)?.focus());

// The fields named here show their problems themselves; any other problem is said for all.
export function useAction(fields: readonly string[] = []): Action {
  const [busy, setBusy] = useState(false);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const run: Action["run"] = async (what, act, done) => {
    setBusy(true);
    setProblems({});
    forgetFailures();
    try {
      const answer = await act();
      succeeded(done?.(answer) ?? what);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.field && fields.includes(error.field)) {
        setProblems({ [error.field]: problemOf(error) });
        focusWrong();
      }
      failed(what, error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  const wrong: Action["wrong"] = (found) => {
    setProblems(found);
    const some = Object.keys(found).length > 0;
    if (some) focusWrong();
    return some;
  };
  return { busy, problems, clear: () => setProblems({}), wrong, run };
}
