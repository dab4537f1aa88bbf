// What newcomers of an anonymous room do before they get a place: nothing, or some work, and how much.
import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, roomPath } from "./api";
import { Field } from "./field";
import { unread } from "./number";
import { nameOf, say } from "./text";
import { failed } from "./toast";
import type { ChallengeKind, RoomDefinition, RoomLive } from "./wire";

const KINDS: ChallengeKind[] = ["off", "proof_of_work"];
const FIELDS = ["challenge", "challenge_difficulty"];

interface Draft {
  kind: ChallengeKind;
  difficulty: string;
}

const draftOf = (room: RoomDefinition): Draft => ({ kind: room.challenge, difficulty: String(room.challenge_difficulty) });
const same = (one: Draft, other: Draft): boolean => one.kind === other.kind && one.difficulty === other.difficulty;

export function ChallengeCard({ room }: { room: RoomLive }) {
  const [base, setBase] = useState<RoomDefinition | undefined>();
  const [draft, setDraft] = useState<Draft | undefined>();
  const { busy, problems, clear, wrong, run } = useAction(FIELDS);
  // What was typed stays; what was left alone follows another operator's change.
  const settle = (told: RoomDefinition) => {
    setDraft((old) => (old && base && !same(old, draftOf(base)) ? old : draftOf(told)));
    setBase(told);
  };
  const read = async () => {
    try {
      settle(await call<RoomDefinition>("GET", roomPath(room.room)));
    } catch (error) {
      failed(say("challenge.title"), error);
    }
  };
  useEffect(() => {
    if (base?.version !== room.version) void read();
  }, [room.room, room.version]);
  if (!base || !draft) return null;

  const before = draftOf(base);
  const set = (changed: Partial<Draft>) => {
    clear();
    setDraft({ ...draft, ...changed });
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (wrong(unread({ challenge_difficulty: draft.difficulty }))) return;
    const change = { challenge: draft.kind, challenge_difficulty: Number(draft.difficulty) };
    await run(say("challenge.title"), async () => {
      const match = { "if-match": `"${base.version}"` };
      const told = await call<RoomDefinition>("PATCH", roomPath(room.room), change, match);
      setBase(told);
      setDraft(draftOf(told));
    }, () => say("done.challenge", { room: nameOf(room), kind: say(`challenge.${draft.kind}`) }));
  };
  const dirty = !same(draft, before);
  return (
    <section class="card" aria-labelledby="challenge-title">
      <h2 id="challenge-title">{say("challenge.title")}</h2>
      <p class="soft small-text">{say("challenge.text")}</p>
      <form onSubmit={submit} class="fields" noValidate>
        <fieldset class={draft.kind === before.kind ? "" : "changed"}>
          <legend class="heard">{say("challenge.title")}</legend>
          {KINDS.map((kind) => (
            <label key={kind} class="option">
              <input type="radio" name="challenge" value={kind} checked={draft.kind === kind} onChange={() => set({ kind })} />
              <span><b>{say(`challenge.${kind}`)}</b> <small>{say(`challenge.${kind}.hint`)}</small></span>
            </label>
          ))}
          {problems.challenge && <p class="problem">{problems.challenge}</p>}
        </fieldset>
        {draft.kind === "proof_of_work" && (
          <Field id="challenge-difficulty" name={say("field.challenge_difficulty")} value={draft.difficulty} change={(difficulty) => set({ difficulty })}
            problem={problems.challenge_difficulty} hint={say("hint.challenge_difficulty")} type="number" min={100} max={1_000_000} step={1}
            unit={say("unit.tries")} changed={draft.difficulty !== before.difficulty} />
        )}
        <div class="row end">
          <button type="button" class="quiet" disabled={!dirty} onClick={() => set(before)}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("apply")}</button>
        </div>
      </form>
    </section>
  );
}
