// What became of an action: said once to everybody, also to those who hear the page.
import { Lost, Refused } from "./api";
import { problemOf } from "./problem";
import { Store, useStore } from "./store";
import { say, sayOr } from "./text";

interface Toast {
  no: number;
  good: boolean;
  text: string;
}

const GOOD_SHOWN_MS = 5_000;

const toasts = new Store<Toast[]>([]);
let last = 0;

function drop(no: number): void {
  toasts.set(toasts.value.filter((toast) => toast.no !== no));
}

export function succeeded(text: string): void {
  const toast = { no: (last += 1), good: true, text };
  // A new success takes the place of the old: only failures pile up.
  toasts.set([...toasts.value.filter(({ good }) => !good), toast]);
  setTimeout(() => drop(toast.no), GOOD_SHOWN_MS);
}

// What was wrong, in the operator's language.
export function wordsOf(error: unknown): string {
  if (error instanceof Lost) return say("error.lost");
  if (!(error instanceof Refused)) return say("error.unknown", { text: String(error) });
  const told = sayOr(`code.${error.code}`, error.problem ?? say("error.unknown", { text: error.code || String(error.status) }));
  return error.field ? `${sayOr(`field.${error.field}`, error.field)}: ${problemOf(error)}` : told;
}

// A failure stays until it is read away, the next try, or another view.
export function failed(what: string, error: unknown): void {
  toasts.set([...toasts.value, { no: (last += 1), good: false, text: `${what}: ${wordsOf(error)}` }]);
}

export function forgetFailures(): void {
  toasts.set(toasts.value.filter(({ good }) => good));
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts">
      <div role="status" aria-live="polite">
        {shown.filter(({ good }) => good).map(({ no, text }) => <p key={no} class="toast good">{text}</p>)}
      </div>
      <div role="alert">
        {shown.filter(({ good }) => !good).map(({ no, text }) => (
          <p key={no} class="toast bad">
            <span>{text}</span>
            <button type="button" class="quiet small" onClick={() => drop(no)}>{say("dismiss")}</button>
          </p>
        ))}
      </div>
    </div>
  );
}
