// How fast a room lets people in, and how many: its rate, burst, capacity and pacer. Sends only what was changed.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused, roomPath } from "./api";
import { confirmed } from "./confirm";
import { Field } from "./field";
import { count, exact, say } from "./text";
import { failed } from "./toast";
import type { Aimd, Pacer, PacerKind, RoomDefinition, RoomLive, Settings } from "./wire";

const NUMBERS = ["rate_per_s", "capacity", "burst", "per_tick"] as const;
const AIMD = ["start", "increase", "floor", "ceiling", "threshold"] as const;
const AIMD_DEFAULT: Aimd = { start: 50, increase: 5, floor: 5, ceiling: 200, threshold: 100 };
const FIELDS = [...NUMBERS, ...AIMD.map((name) => `pacer.${name}`)];
const KINDS: PacerKind[] = ["fixed", "aimd", "manual"];

type Draft = Record<(typeof NUMBERS)[number], string> & { kind: PacerKind; aimd: Record<keyof Aimd, string> };

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

// What was typed stays; whatever was left alone follows what another operator has set.
function rebased(draft: Draft, old: Settings, now: Settings): Draft {
  const [was, is] = [draftOf(old), draftOf(now)];
  const merged = { ...draft };
  for (const name of NUMBERS) if (draft[name] === was[name]) merged[name] = is[name];
  const samePacer = draft.kind === was.kind && AIMD.every((name) => draft.aimd[name] === was.aimd[name]);
  return samePacer ? { ...merged, kind: is.kind, aimd: is.aimd } : merged;
}

// A merge patch: `null` takes back what the old pacer had and the new one has not.
function pacerPatch(draft: Draft, old: Pacer): Record<string, unknown> | undefined {
  const aimd = Object.fromEntries(AIMD.map((name) => [name, draft.kind === "aimd" ? Number(draft.aimd[name]) : null]));
  const same = draft.kind === old.kind && (old.kind !== "aimd" || AIMD.every((name) => Number(draft.aimd[name]) === old[name]));
  return same ? undefined : { kind: draft.kind, ...aimd };
}

function patchOf(draft: Draft, old: Settings): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const name of NUMBERS) if (Number(draft[name]) !== old[name]) patch[name] = Number(draft[name]);
  const pacer = pacerPatch(draft, old.pacer);
  if (pacer) patch.pacer = pacer;
  return patch;
}

// Two digits are as exact as a hand at a dial.
const times = (value: string, factor: number): string => String(Number((Number(value) * factor).toPrecision(3)));

export function Speed({ room }: { room: RoomLive }) {
  const [definition, setDefinition] = useState<RoomDefinition | undefined>();
  const [draft, setDraft] = useState<Draft | undefined>();
  const { busy, problems, clear, run } = useAction(FIELDS);
  const path = roomPath(room.room);
  const read = async () => {
    try {
      const now = await call<RoomDefinition>("GET", path);
      setDefinition(now);
      setDraft((typed) => (typed && definition ? rebased(typed, definition.settings, now.settings) : draftOf(now.settings)));
    } catch (error) {
      failed(say("speed.title"), error);
    }
  };
  const patch = definition && draft ? patchOf(draft, definition.settings) : {};
  const dirty = Object.keys(patch).length > 0;
  // Another operator's change is shown at once, but never under the fingers of who is typing.
  useEffect(() => {
    if (definition?.version !== room.version) void read();
  }, [room.room, room.version]);
  if (!definition || !draft) return <section class="card"><p class="soft">{say("loading")}</p></section>;

  const set = (changed: Partial<Draft>) => {
    clear();
    setDraft({ ...draft, ...changed });
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const stops = patch.rate_per_s === 0 && !(await confirmed(say("confirm.stop"), say("confirm.stop_text"), say("speed.apply")));
    if (stops) return;
    const told = say("done.speed", { rate: exact(Number(draft.rate_per_s)), capacity: count(Number(draft.capacity)) });
    const done = await run(say("speed.title"), async () => {
      try {
        const now = await call<RoomDefinition>("PATCH", path, { settings: patch }, { "if-match": `"${definition.version}"` });
        setDefinition(now);
        setDraft(draftOf(now.settings));
      } catch (error) {
        // Somebody else was quicker: show what is now, keep what was typed.
        if (error instanceof Refused && error.status === 412) await read();
        throw error;
      }
    }, () => told);
    if (done) clear();
  };
  const number = (name: (typeof NUMBERS)[number]) => ({
    id: name,
    name: say(`field.${name}`),
    value: draft[name],
    change: (value: string) => set({ [name]: value }),
    problem: problems[name],
    type: "number" as const,
    min: 0,
    step: name === "rate_per_s" ? ("any" as const) : 1,
    changed: name in patch,
  });
  const [rate, burst, perTick] = [Number(draft.rate_per_s), Number(draft.burst), Number(draft.per_tick)];
  const bound = Math.min(burst, perTick);
  return (
    <section class="card" aria-labelledby="speed-title">
      <h2 id="speed-title">{say("speed.title")}</h2>
      <p class="soft small-text">
        {say("speed.now", { rate: exact(room.rate_per_s), inside: count(room.live), capacity: count(room.capacity) })}
      </p>
      <form onSubmit={submit} class="fields" noValidate>
        <Field {...number("rate_per_s")} unit={say("unit.per_s")} />
        <div class="row dial" role="group" aria-label={say("speed.dial")}>
          {([["½", 0.5], ["−10 %", 0.9], ["+10 %", 1.1], ["×2", 2]] as const).map(([label, factor]) => (
            <button key={label} type="button" class="quiet small" onClick={() => set({ rate_per_s: times(draft.rate_per_s, factor) })}>{label}</button>
          ))}
        </div>
        {draft.kind === "fixed" && rate > bound && (
          <p class="hint">
            {say("speed.bound", { bound: count(bound) })}{" "}
            {rate <= 200 && (
              <button type="button" class="link" onClick={() => set({ burst: String(Math.ceil(rate)), per_tick: String(Math.max(perTick, Math.ceil(rate))) })}>
                {say("speed.raise")}
              </button>
            )}
          </p>
        )}
        <Field {...number("capacity")} unit={say("unit.people")} />
        <div class="pair">
          <Field {...number("burst")} hint={say("hint.burst")} />
          <Field {...number("per_tick")} hint={say("hint.per_tick")} />
        </div>
        <fieldset class={"pacer" in patch ? "changed" : ""}>
          <legend>{say("field.pacer")}</legend>
          {KINDS.map((kind) => (
            <label key={kind} class="option">
              <input type="radio" name="pacer" value={kind} checked={draft.kind === kind} onChange={() => set({ kind })} />
              <span><b>{say(`pacer.${kind}`)}</b> <small>{say(`pacer.${kind}.hint`)}</small></span>
            </label>
          ))}
          {draft.kind === "aimd" && (
            <div class="pair">
              {AIMD.map((name) => (
                <Field
                  key={name}
                  id={`pacer-${name}`}
                  name={say(`field.pacer.${name}`)}
                  value={draft.aimd[name]}
                  change={(value) => set({ aimd: { ...draft.aimd, [name]: value } })}
                  problem={problems[`pacer.${name}`]}
                  type="number"
                  min={1}
                  step={1}
                />
              ))}
            </div>
          )}
        </fieldset>
        <div class="row end">
          {dirty && <span class="soft small-text grow">{say("speed.unsaved")}</span>}
          <button type="button" class="quiet" disabled={!dirty} onClick={() => set(draftOf(definition.settings))}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("speed.apply")}</button>
        </div>
      </form>
    </section>
  );
}
