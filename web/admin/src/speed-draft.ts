// What an operator typed over a room's settings, and how it goes on when another changes them. Draws and sends nothing.
import { typed, unread } from "./number";
import type { Aimd, Pacer, PacerKind, RoomDefinition, Settings } from "./wire";

export const NUMBERS = ["rate_per_s", "capacity", "burst", "per_tick"] as const;
export const AIMD = ["start", "increase", "floor", "ceiling", "threshold"] as const;
const AIMD_DEFAULT: Aimd = { start: 50, increase: 5, floor: 5, ceiling: 200, threshold: 100 };

export type NumberName = (typeof NUMBERS)[number];
export type Draft = Record<NumberName, string> & { kind: PacerKind; aimd: Record<keyof Aimd, string> };

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
  return {
    rate_per_s: String(settings.rate_per_s),
    capacity: String(settings.capacity),
    burst: String(settings.burst),
    per_tick: String(settings.per_tick),
    kind: pacer.kind,
    aimd: Object.fromEntries(AIMD.map((name) => [name, String(aimd[name])])) as Draft["aimd"],
  };
}

export const fresh = (base: RoomDefinition): Form => ({ base, draft: draftOf(base.settings), known: base.version, clashes: {} });

const samePacer = (one: Draft, other: Draft): boolean =>
  one.kind === other.kind && (one.kind !== "aimd" || AIMD.every((name) => one.aimd[name] === other.aimd[name]));

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
  if (samePacer(draft, was)) merged.draft = { ...merged.draft, kind: is.kind, aimd: is.aimd };
  else if (!samePacer(is, was)) merged.clashes.pacer = is.kind;
  if (samePacer(merged.draft, is)) delete merged.clashes.pacer;
  if (!told && Object.keys(merged.clashes).length > 0) merged.known = known;
  return merged;
}

// What was sent is settled; what was typed since then stays.
export const applied = (form: Form, sent: Draft, now: RoomDefinition): Form => rebased({ ...form, clashes: {} }, now, true, sent);

// A merge patch: `null` takes back what the old pacer had and the new one has not.
function pacerPatch(draft: Draft, old: Pacer): Record<string, unknown> | undefined {
  const aimd = Object.fromEntries(AIMD.map((name) => [name, draft.kind === "aimd" ? Number(draft.aimd[name]) : null]));
  const same = draft.kind === old.kind && (old.kind !== "aimd" || AIMD.every((name) => typed(draft.aimd[name]) === old[name]));
  return same ? undefined : { kind: draft.kind, ...aimd };
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
  if (draft.kind === "aimd") fields.push(...AIMD.map((name): [string, string] => [`pacer.${name}`, draft.aimd[name]]));
  return unread(Object.fromEntries(fields));
}
