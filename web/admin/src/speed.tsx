// How fast a room lets people in, and how many: its rate, burst, capacity and pacer. Sends only what was changed.
import { useAction } from "./action";
import { Field } from "./field";
import { stopsOnlyIfMeant, typed } from "./number";
import { useRoomForm } from "./room-form";
import { AIMD, applied, fresh, NUMBERS, patchOf, SIGNAL, rebased, unreadOf, type Draft, type NumberName } from "./speed-draft";
import { count, exact, nameOf, say } from "./text";
import type { PacerKind, RoomLive } from "./wire";

const FIELDS = [...NUMBERS, ...[...AIMD, ...SIGNAL].map((name) => `pacer.${name}`)];
const KINDS: PacerKind[] = ["fixed", "aimd", "signal", "manual"];

// Two digits are as exact as a hand at a dial.
const times = (value: string, factor: number): string =>
  typed(value) === undefined ? value : String(Number((Number(value) * factor).toPrecision(3)));

const RULES = { fresh, rebased, applied };

export function Speed({ room }: { room: RoomLive }) {
  const { form, setForm, send } = useRoomForm(room, say("speed.title"), RULES);
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  if (!form) return <section class="card"><p class="soft">{say("loading")}</p></section>;

  const { base, draft, clashes } = form;
  const patch = patchOf(form);
  const dirty = Object.keys(patch).length > 0;
  const set = (changed: Partial<Draft>) => {
    clear();
    setForm({ ...form, draft: { ...draft, ...changed } });
  };
  const undo = () => {
    clear();
    setForm(fresh(base));
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unreadOf(draft))) return;
    const [rate_per_s, capacity] = [Number(draft.rate_per_s), Number(draft.capacity)];
    if (!(await stopsOnlyIfMeant(nameOf(room), base.settings, { rate_per_s, capacity }, say("speed.apply")))) return;
    const told = say("done.speed", { rate: exact(rate_per_s), capacity: count(capacity) });
    const done = await run(say("speed.title"), () => send(form, draft, { settings: patch }), () => told);
    if (done) clear();
  };
  const newsOf = (value: string | undefined) => value && say("clash", { value });
  const number = (name: NumberName) => ({
    id: name,
    name: say(`field.${name}`),
    value: draft[name],
    change: (value: string) => set({ [name]: value }),
    problem: problems[name],
    news: newsOf(clashes[name]),
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
        {room.site_load && ` ${say(`site_load.${room.site_load}`)}`}
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
          {clashes.pacer && <p class="hint" role="status">{newsOf(say(`pacer.${clashes.pacer}`))}</p>}
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
          {draft.kind === "signal" && (
            <div class="pair">
              {SIGNAL.map((name) => (
                <Field
                  key={name}
                  id={`pacer-signal-${name}`}
                  name={say(`field.pacer.${name}`)}
                  value={draft.signal[name]}
                  change={(value) => set({ signal: { ...draft.signal, [name]: value } })}
                  problem={problems[`pacer.${name}`]}
                  type="number"
                  min={name === "slow_ms" ? 0 : 1}
                  step={1}
                />
              ))}
            </div>
          )}
        </fieldset>
        <div class="row end">
          {dirty && <span class="soft small-text grow">{say("speed.unsaved")}</span>}
          <button type="button" class="quiet" disabled={!dirty} onClick={undo}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("speed.apply")}</button>
        </div>
      </form>
    </section>
  );
}
