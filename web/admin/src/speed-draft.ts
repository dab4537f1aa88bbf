// What an operator typed over a room's settings, and how it goes on when another changes them. Draws and sends nothing.
import { typed, unread } from "./number";
import type { Aimd, Pacer, PacerKind, RoomDefinition, Settings, Signal } from "./wire";

export const NUMBERS = ["rate_per_s", "capacity", "burst", "per_tick"] as const;
export const AIMD = ["start", "increase", "floor", "ceiling", "threshold"] as const;
export const SIGNAL = ["start", "increase", "floor", "ceiling", "settle_ms", "slow_ms", "errors_percent"] as const;
const PACER_FIELDS = [...new Set<string>([...AIMD, ...SIGNAL])];
const SIGNAL_DEFAULT: Signal = { start: 50, increase: 5, floor: 5, ceiling: 200, settle_ms: 5000, slow_ms: 2000, errors_percent: 10 };
const AIMD_DEFAULT: Aimd = { start: 50, increase: 5, floor: 5, ceiling: 200, threshold: 100 };

export type NumberName = (typeof NUMBERS)[number];
export type Draft = Record<NumberName, string> & {
  kind: PacerKind;
  aimd: Record<keyof Aimd, string>;
  signal: Record<keyof Signal, string>;
};

export interface Form {
  // As the server has it.
  base: RoomDefinition;
  draft: Draft;
  // The version that whoever sees the form knows: it stays behind until they were told of a clash.
  known: number;
  // What another has set meanwhile where something was typed.
  clashes: Partial<Record<NumberName, string>> & { pacer?: PacerKind };
}

function draftOf(settings: Settings): Draft {
  const { pacer } = settings;
  const aimd = pacer.kind === "aimd" ? pacer : AIMD_DEFAULT;
  const signal = pacer.kind === "signal" ? pacer : SIGNAL_DEFAULT;
  return {
    rate_per_s: String(settings.rate_per_s),
    capacity: String(settings.capacity),
    burst: String(settings.burst),
    per_tick: String(settings.per_tick),
    kind: pacer.kind,
    aimd: Object.fromEntries(AIMD.map((name) => [name, String(aimd[name])])) as Draft["aimd"],
    signal: Object.fromEntries(SIGNAL.map((name) => [name, String(signal[name])])) as Draft["signal"],
  };
}

export const fresh = (base: RoomDefinition): Form => ({ base, draft: draftOf(base.settings), known: base.version, clashes: {} });

// What was typed for the chosen pacer, by field.
function pacerFields({ kind, aimd, signal }: Draft): Record<string, string> {
  if (kind === "aimd") return aimd;
  return kind === "signal" ? signal : {};
}

const samePacer = (one: Draft, other: Draft): boolean => {
  const theirs = pacerFields(other);
  return one.kind === other.kind && Object.entries(pacerFields(one)).every(([name, value]) => value === theirs[name]);
};

// What was typed stays; whatever was left alone follows what another operator has set. `told`: they know of all by now.
export function rebased(form: Form, now: RoomDefinition, told: boolean, was = draftOf(form.base.settings)): Form {
  const { draft, known, clashes } = form;
  const is = draftOf(now.settings);
  const merged: Form = { base: now, draft: { ...draft }, known: now.version, clashes: { ...clashes } };
  for (const name of NUMBERS) {
    if (draft[name] === was[name]) merged.draft[name] = is[name];
    else if (is[name] !== was[name]) merged.clashes[name] = is[name];
    if (merged.draft[name] === is[name]) delete merged.clashes[name];
  }
  if (samePacer(draft, was)) merged.draft = { ...merged.draft, kind: is.kind, aimd: is.aimd, signal: is.signal };
  else if (!samePacer(is, was)) merged.clashes.pacer = is.kind;
  if (samePacer(merged.draft, is)) delete merged.clashes.pacer;
  if (!told && Object.keys(merged.clashes).length > 0) merged.known = known;
  return merged;
}

// What was sent is settled; what was typed since then stays.
export const applied = (form: Form, sent: Draft, now: RoomDefinition): Form => rebased({ ...form, clashes: {} }, now, true, sent);

// A merge patch: `null` takes back what the old pacer had and the new one has not.
function pacerPatch(draft: Draft, old: Pacer): Record<string, unknown> | undefined {
  const mine = pacerFields(draft);
  const had: Record<string, unknown> = { ...old };
  if (draft.kind === old.kind && Object.entries(mine).every(([name, value]) => typed(value) === had[name])) return undefined;
  const fields = PACER_FIELDS.map((name) => [name, mine[name] === undefined ? null : Number(mine[name])]);
  return { kind: draft.kind, ...Object.fromEntries(fields) };
}

export function patchOf({ draft, base: { settings: old } }: Form): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of NUMBERS) if (typed(draft[name]) !== old[name]) patch[name] = Number(draft[name]);
  const pacer = pacerPatch(draft, old.pacer);
  if (pacer) patch.pacer = pacer;
  return patch;
}

// What cannot be sent at all, by field.
export function unreadOf(draft: Draft): Record<string, string> {
  const fields: [string, string][] = NUMBERS.map((name) => [name, draft[name]]);
  for (const [name, value] of Object.entries(pacerFields(draft))) fields.push([`pacer.${name}`, value]);
  return unread(Object.fromEntries(fields));
}
