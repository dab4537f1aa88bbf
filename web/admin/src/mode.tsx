// How a room treats whoever comes: on, off, auto or shadow; when an auto room queues, and whether it does now and why.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, roomPath } from "./api";
import { confirmed } from "./confirm";
import { Field } from "./field";
import { typed, unread } from "./number";
import { clock, nameOf, say } from "./text";
import { failed } from "./toast";
import type { Mode, RoomDefinition, RoomLive, Settings } from "./wire";

const MODES: Mode[] = ["on", "auto", "shadow", "off"];
const FIELDS = ["mode", "queue_at_live", "queue_at_arrivals_per_s", "quiet_for_ms"];

interface Draft {
  mode: Mode;
  // Empty: the server's own rule.
  live: string;
  arrivals: string;
  quiet_s: string;
}

const draftOf = (settings: Settings): Draft => ({
  mode: settings.mode,
  live: settings.queue_at_live === undefined ? "" : String(settings.queue_at_live),
  arrivals: settings.queue_at_arrivals_per_s === undefined ? "" : String(settings.queue_at_arrivals_per_s),
  quiet_s: String(settings.quiet_for_ms / 1000),
});

const same = (one: Draft, other: Draft): boolean => JSON.stringify(one) === JSON.stringify(other);
const orNull = (value: string): number | null => (value.trim() === "" ? null : Number(value));

function now(room: RoomLive): string {
  if (room.mode !== "auto") return say(`mode.${room.mode}.hint`);
  const { queueing } = room;
  return queueing ? say("mode.queues", { since: clock(queueing.since), why: say(`queueing.${queueing.why}`) }) : say("mode.walks");
}

export function ModeCard({ room }: { room: RoomLive }) {
  const [base, setBase] = useState<RoomDefinition | undefined>();
  const [draft, setDraft] = useState<Draft | undefined>();
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  // What was typed stays; what was left alone follows another operator's change.
  const settle = (told: RoomDefinition) => {
    setDraft((old) => (old && base && !same(old, draftOf(base.settings)) ? old : draftOf(told.settings)));
    setBase(told);
  };
  const read = async () => {
    try {
      settle(await call<RoomDefinition>("GET", roomPath(room.room)));
    } catch (error) {
      failed(say("mode.title"), error);
    }
  };
  useEffect(() => {
    if (base?.version !== room.version) void read();
  }, [room.room, room.version]);
  if (!base || !draft) return null;

  const before = draftOf(base.settings);
  const set = (changed: Partial<Draft>) => {
    clear();
    setDraft({ ...draft, ...changed });
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    const numbers: Record<string, string> = { quiet_for_ms: draft.quiet_s };
    if (draft.live.trim()) numbers.queue_at_live = draft.live;
    if (draft.arrivals.trim()) numbers.queue_at_arrivals_per_s = draft.arrivals;
    if (wrong(unread(numbers))) return;
    const lets = (draft.mode === "off" || draft.mode === "shadow") && draft.mode !== before.mode;
    const asked = { about: nameOf(room), title: say("confirm.mode"), text: say("confirm.mode_text"), yes: say("apply") };
    if (lets && !(await confirmed(asked))) return;
    const settings = {
      mode: draft.mode,
      queue_at_live: orNull(draft.live),
      queue_at_arrivals_per_s: orNull(draft.arrivals),
      quiet_for_ms: Math.round((typed(draft.quiet_s) ?? 0) * 1000),
    };
    await run(say("mode.title"), async () => {
      const match = { "if-match": `"${base.version}"` };
      const told = await call<RoomDefinition>("PATCH", roomPath(room.room), { settings }, match);
      setBase(told);
      setDraft(draftOf(told.settings));
    }, () => say("done.mode", { mode: say(`mode.${draft.mode}`) }));
  };
  const dirty = !same(draft, before);
  return (
    <section class="card" aria-labelledby="mode-title">
      <h2 id="mode-title">{say("mode.title")}</h2>
      <p class="soft small-text" data-of="mode">{now(room)}</p>
      <form onSubmit={submit} class="fields" noValidate>
        <fieldset class={draft.mode === before.mode ? "" : "changed"}>
          <legend class="heard">{say("mode.title")}</legend>
          {MODES.map((mode) => (
            <label key={mode} class="option">
              <input type="radio" name="mode" value={mode} checked={draft.mode === mode} onChange={() => set({ mode })} />
              <span><b>{say(`mode.${mode}`)}</b> <small>{say(`mode.${mode}.hint`)}</small></span>
            </label>
          ))}
          {problems.mode && <p class="problem">{problems.mode}</p>}
        </fieldset>
        {draft.mode === "auto" && (
          <div class="pair">
            <Field id="queue-live" name={say("field.queue_at_live")} value={draft.live} change={(live) => set({ live })}
              problem={problems.queue_at_live} hint={say("hint.queue_at_live")} type="number" min={1} step={1} changed={draft.live !== before.live} />
            <Field id="queue-arrivals" name={say("field.queue_at_arrivals")} value={draft.arrivals} change={(arrivals) => set({ arrivals })}
              problem={problems.queue_at_arrivals_per_s} hint={say("hint.queue_at_arrivals")} type="number" min={1} step={1} changed={draft.arrivals !== before.arrivals} />
            <Field id="queue-quiet" name={say("field.quiet_for")} value={draft.quiet_s} change={(quiet_s) => set({ quiet_s })}
              problem={problems.quiet_for_ms} type="number" min={5} step={1} unit={say("unit.s")} changed={draft.quiet_s !== before.quiet_s} />
          </div>
        )}
        <div class="row end">
          <button type="button" class="quiet" disabled={!dirty} onClick={() => set(before)}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("apply")}</button>
        </div>
      </form>
    </section>
  );
}
