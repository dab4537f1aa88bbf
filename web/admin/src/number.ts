// Numbers as they are typed: which cannot be read, and which let nobody in. The server checks their bounds.
import { confirmed } from "./confirm";
import { say } from "./text";

// Long spans are typed in hours and sent in milliseconds.
export const HOUR_MS = 3_600_000;

// An empty field is no number; a browser also gives "" for what it cannot read.
export function typed(value: string): number | undefined {
  const number = Number(value);
  return value.trim() === "" || !Number.isFinite(number) ? undefined : number;
}

// What is wrong with which field, in words.
export function unread(fields: Record<string, string>): Record<string, string> {
  const wrong = Object.entries(fields).filter(([, value]) => typed(value) === undefined);
  return Object.fromEntries(wrong.map(([name]) => [name, say("error.number")]));
}

interface Limits {
  rate_per_s: number;
  capacity: number;
}

// The server keeps rates to a thousandth.
const isNothing = (rate: number): boolean => Math.round(rate * 1000) === 0;

// Asks where nobody would come in any more because of this change; whether to go on.
export async function stopsOnlyIfMeant(about: string, old: Limits, now: Limits, yes: string): Promise<boolean> {
  const rate = isNothing(now.rate_per_s) && now.rate_per_s !== old.rate_per_s;
  const size = now.capacity === 0 && old.capacity !== 0;
  if (!rate && !size) return true;
  return confirmed({ about, title: say("confirm.stop"), text: say(rate ? "confirm.stop_text" : "confirm.stop_size_text"), yes });
}
