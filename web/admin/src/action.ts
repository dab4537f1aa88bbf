// Carries out what an operator asked for: says how it went, and what was wrong with which field.
import { useState } from "preact/hooks";
import { Refused } from "./api";
import { failed, forgetFailures, problemOf, succeeded } from "./toast";

export interface Action {
  busy: boolean;
  // What the server found wrong, by field.
  problems: Record<string, string>;
  clear: () => void;
  // Whether it was done.
  run: (what: string, act: () => Promise<unknown>, done?: (answer: unknown) => string) => Promise<boolean>;
}

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
        // Once it is drawn: who has to mend a field should be in it.
        setTimeout(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      }
      failed(what, error);
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, problems, clear: () => setProblems({}), run };
}
