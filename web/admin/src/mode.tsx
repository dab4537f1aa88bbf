// How a room treats whoever comes: on, off, auto or shadow; when an auto room queues, and whether it does now and why.
import { confirmed } from "./confirm";
import { Drafts } from "./draft";
import { Field } from "./field";
import { typed, unread } from "./number";
import { useRoomTexts } from "./room-form";
import { clock, nameOf, say } from "./text";
import type { Mode, RoomDefinition, RoomLive } from "./wire";

const MODES: Mode[] = ["on", "auto", "shadow", "off"];
const FIELDS = ["mode", "queue_at_live", "queue_at_arrivals_per_s", "quiet_for_ms"] as const;
type Name = (typeof FIELDS)[number];

// Empty: the server's own rule. How long it is quiet is typed in seconds.
const DRAFTS = new Drafts<RoomDefinition, Name>(({ settings }) => ({
  mode: settings.mode,
  queue_at_live: String(settings.queue_at_live ?? ""),
  queue_at_arrivals_per_s: String(settings.queue_at_arrivals_per_s ?? ""),
  quiet_for_ms: String(settings.quiet_for_ms / 1000),
}));

// A text of the draft is one of the modes.
const named = (mode: string): string => say(`mode.${mode as Mode}`);
const orNull = (value: string): number | null => (value.trim() === "" ? null : Number(value));

function now(room: RoomLive): string {
  if (room.mode !== "auto") return say(`mode.${room.mode}.hint`);
  const { queueing } = room;
  return queueing ? say("mode.queues", { since: clock(queueing.since), why: say(`queueing.${queueing.why}`) }) : say("mode.walks");
}

export function ModeCard({ room }: { room: RoomLive }) {
  const form = useRoomTexts(room, say("mode.title"), FIELDS, DRAFTS);
  if (!form) return null;

  const { texts, was, clashes, dirty, set, undo, busy, problems, wrong, apply } = form;
  const submit = async (event: Event) => {
    event.preventDefault();
    const { mode, queue_at_live, queue_at_arrivals_per_s, quiet_for_ms } = texts;
    const numbers: Record<string, string> = { quiet_for_ms };
    if (queue_at_live.trim()) numbers.queue_at_live = queue_at_live;
    if (queue_at_arrivals_per_s.trim()) numbers.queue_at_arrivals_per_s = queue_at_arrivals_per_s;
    if (wrong(unread(numbers))) return;
    const lets = (mode === "off" || mode === "shadow") && mode !== was.mode;
    const asked = { about: nameOf(room), title: say("confirm.mode"), text: say("confirm.mode_text"), yes: say("apply") };
    if (lets && !(await confirmed(asked))) return;
    const settings = {
      mode,
      queue_at_live: orNull(queue_at_live),
      queue_at_arrivals_per_s: orNull(queue_at_arrivals_per_s),
      quiet_for_ms: Math.round((typed(quiet_for_ms) ?? 0) * 1000),
    };
    await apply({ settings }, () => say("done.mode", { mode: named(mode) }));
  };
  const field = (name: Name) => ({
    value: texts[name],
    change: (text: string) => set(name, text),
    problem: problems[name],
    news: clashes[name] === undefined ? undefined : say("clash", { value: clashes[name] || say("none") }),
    changed: texts[name] !== was[name],
    type: "number" as const,
    step: 1,
  });
  return (
    <section class="card" aria-labelledby="mode-title">
      <h2 id="mode-title">{say("mode.title")}</h2>
      <p class="soft small-text" data-of="mode">{now(room)}</p>
      <form onSubmit={submit} class="fields" noValidate>
        <fieldset class={texts.mode === was.mode ? "" : "changed"}>
          <legend class="heard">{say("mode.title")}</legend>
          {MODES.map((mode) => (
            <label key={mode} class="option">
              <input type="radio" name="mode" value={mode} checked={texts.mode === mode} onChange={() => set("mode", mode)} />
              <span><b>{say(`mode.${mode}`)}</b> <small>{say(`mode.${mode}.hint`)}</small></span>
            </label>
          ))}
          {problems.mode && <p class="problem">{problems.mode}</p>}
          {clashes.mode && <p class="hint" role="status">{say("clash", { value: named(clashes.mode) })}</p>}
        </fieldset>
        {texts.mode === "auto" && (
          <div class="pair">
            <Field {...field("queue_at_live")} id="queue-live" name={say("field.queue_at_live")} hint={say("hint.queue_at_live")} min={1} />
            <Field {...field("queue_at_arrivals_per_s")} id="queue-arrivals" name={say("field.queue_at_arrivals")} hint={say("hint.queue_at_arrivals")} min={1} />
            <Field {...field("quiet_for_ms")} id="queue-quiet" name={say("field.quiet_for")} min={5} unit={say("unit.s")} />
          </div>
        )}
        <div class="row end">
          <button type="button" class="quiet" disabled={!dirty} onClick={undo}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("apply")}</button>
        </div>
      </form>
    </section>
  );
}
