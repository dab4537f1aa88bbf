// The page's words, numbers and times in the operator's language. The words themselves are in `messages.*.json`.
import en from "./messages.en.json";
import ko from "./messages.ko.json";
import { Store } from "./store";
import type { Title } from "./wire";

export type Language = "ko" | "en";
export type Key = keyof typeof en;

const MESSAGES: Record<Language, Record<Key, string>> = { ko, en };
const CHOSEN = "jari:admin:language";

function initial(): Language {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(CHOSEN);
  } catch {
    // A browser may forbid storage; its own language is good enough.
  }
  if (chosen === "ko" || chosen === "en") return chosen;
  const spoken = navigator.languages.map((tag) => tag.slice(0, 2)).find((tag) => tag === "ko" || tag === "en");
  return spoken === "ko" ? "ko" : "en";
}

export const language = new Store<Language>(initial());

export function speak(chosen: Language): void {
  try {
    localStorage.setItem(CHOSEN, chosen);
  } catch {
    // As above.
  }
  language.set(chosen);
}

export function say(key: Key, values: Record<string, string | number> = {}): string {
  return MESSAGES[language.value][key].replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

// A text by a name that the server gave, where there is one of our own for it.
export function sayOr(key: string, otherwise: string): string {
  return key in MESSAGES.en ? say(key as Key) : otherwise;
}

export const titleOf = (title: Title, room: string): string => {
  const [first, second] = language.value === "ko" ? [title.ko, title.en] : [title.en, title.ko];
  return first || second || room;
};

// A room so that it cannot be taken for another of the same title.
export const nameOf = ({ title, room }: { title: Title; room: string }): string => `${titleOf(title, room)} (${room})`;

export const count = (n: number): string => new Intl.NumberFormat(language.value).format(n);

// A rate to as many digits as say something.
export function rate(perSecond: number): string {
  const maximumFractionDigits = perSecond < 10 ? 1 : 0;
  return new Intl.NumberFormat(language.value, { maximumFractionDigits }).format(perSecond);
}

// A rate exactly as it was set: to a thousandth.
export const exact = (n: number): string => new Intl.NumberFormat(language.value, { maximumFractionDigits: 3 }).format(n);

export function span(ms: number): string {
  const s = Math.round(ms / 1000);
  if (s < 60) return say("span.s", { s });
  if (s < 3600) return s % 60 === 0 ? say("span.m", { m: s / 60 }) : say("span.ms", { m: Math.floor(s / 60), s: s % 60 });
  return say("span.hm", { h: Math.floor(s / 3600), m: Math.floor((s % 3600) / 60) });
}

const format = (options: Intl.DateTimeFormatOptions, time: string | number): string =>
  new Intl.DateTimeFormat(language.value, options).format(new Date(time));

export const clock = (time: string | number): string => format({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }, time);
export const minute = (time: number): string => format({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }, time);
export const moment = (time: string): string =>
  format({ month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" }, time);
export const dateAndTime = (time: string): string => format({ dateStyle: "medium", timeStyle: "short" }, time);
