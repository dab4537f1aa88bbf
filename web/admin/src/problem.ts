// What the server says is wrong with a field, in the operator's language. A sentence that is not known is shown as it came.
import type { Refused } from "./api";
import { HOUR_MS } from "./number";
import { count, say, sayOr, type Key } from "./text";

// The server's sentences by what is in them, and the names of their numbers.
const SENTENCES: [RegExp, Key, ...string[]][] = [
  [/is not in (\d+)\.\.=(\d+)/, "error.bounds", "min", "max"],
  [/ is above (\d+)$/, "error.above", "max"],
  [/^has (\d+) to (\d+) bytes$/, "error.bytes", "min", "max"],
  [/^has more than (\d+)$/, "error.many", "max"],
  [/is longer than (\d+) bytes$/, "error.long", "max"],
  [/has a control character in it$/, "error.control"],
  [/^an id has 1 to (\d+) characters$/, "error.id_length", "max"],
  [/^an id has only /, "error.id"],
  [/^there is no tenant /, "code.unknown_tenant"],
  [/ is no https address: /, "error.no_https"],
  [/ is http, which is taken for loopback addresses only: /, "error.plain_http"],
  [/ has a user name or password$/, "error.user_name"],
  [/: an origin is https:\/\/HOST, /, "error.not_origin"],
  [/ has a query or a fragment: /, "error.not_path"],
  [/ has a path that is not plain: /, "error.path"],
  [/^(\d+) keys are good already: /, "error.keys_full", "n"],
  [/^0 would end the calling key /, "error.own_key"],
];

// Of two fields that do not go together, either may be the one that is told.
const ORDER = /^(\S+) \((\d+)[^)]*\) must not be above \S+ \((\d+)[^)]*\)$/;

function worded(told: string, field: string | undefined): string {
  const [, lower, low, high] = ORDER.exec(told) ?? [];
  if (lower !== undefined) {
    return field === lower ? say("error.above", { max: count(Number(high)) }) : say("error.below", { min: count(Number(low)) });
  }
  for (const [pattern, key, ...names] of SENTENCES) {
    const found = pattern.exec(told);
    if (!found) continue;
    const numbers = names.map((name, at): [string, number] => [name, Number(found[at + 1])]);
    // An overlap is typed in hours.
    const [[, max] = []] = numbers;
    if (field === "overlap_ms" && key === "error.above" && max !== undefined) return say("error.above_hours", { max: count(max / HOUR_MS) });
    return say(key, Object.fromEntries(numbers.map(([name, n]) => [name, count(n)])));
  }
  return told;
}

// Of several values in a field, the server quotes the one that is wrong before it says what is.
const QUOTED = /^("(?:[^"\\]|\\.)*")( .*)$/s;

export function problemOf({ problem, code, field }: Refused): string {
  if (problem === undefined) return sayOr(`code.${code}`, code);
  const [, quoted, rest] = QUOTED.exec(problem) ?? [];
  return quoted === undefined || rest === undefined ? worded(problem, field) : `${quoted}: ${worded(rest, field).trim()}`;
}

// Of an address that is refused, the server shows so much.
const SHOWN_CHARS = 100;

// Which of several values a problem is about, and what is wrong with it; else it is about all of them.
export function ofOne(values: string[], problem: string): { at: number; problem: string } | undefined {
  const beginnings = values.map((value) => `${JSON.stringify([...value.trim()].slice(0, SHOWN_CHARS).join(""))}: `);
  const at = beginnings.findIndex((text) => problem.startsWith(text));
  return at < 0 ? undefined : { at, problem: problem.slice(beginnings[at]?.length) };
}
