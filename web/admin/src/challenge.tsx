// What newcomers of an anonymous room do before they get a place: nothing, or some work, and how much.
import { Drafts } from "./draft";
import { Field } from "./field";
import { unread } from "./number";
import { useRoomTexts } from "./room-form";
import { nameOf, say } from "./text";
import type { ChallengeKind, RoomDefinition, RoomLive } from "./wire";

const KINDS: ChallengeKind[] = ["off", "proof_of_work"];
const FIELDS = ["challenge", "challenge_difficulty"] as const;
type Name = (typeof FIELDS)[number];

const DRAFTS = new Drafts<RoomDefinition, Name>((room) => ({
  challenge: room.challenge,
  challenge_difficulty: String(room.challenge_difficulty),
}));

// A text of the draft is one of the kinds.
const named = (kind: string): string => say(`challenge.${kind as ChallengeKind}`);

export function ChallengeCard({ room }: { room: RoomLive }) {
  const form = useRoomTexts(room, say("challenge.title"), FIELDS, DRAFTS);
  if (!form) return null;

  const { texts, was, clashes, dirty, set, undo, busy, problems, wrong, apply } = form;
  const submit = async (event: Event) => {
    event.preventDefault();
    const { challenge, challenge_difficulty } = texts;
    if (wrong(unread({ challenge_difficulty }))) return;
    const change = { challenge, challenge_difficulty: Number(challenge_difficulty) };
    const done = () => say("done.challenge", { room: nameOf(room), kind: named(challenge) });
    await apply(change, done);
  };
  return (
    <section class="card" aria-labelledby="challenge-title">
      <h2 id="challenge-title">{say("challenge.title")}</h2>
      <p class="soft small-text">{say("challenge.text")}</p>
      <form onSubmit={submit} class="fields" noValidate>
        <fieldset class={texts.challenge === was.challenge ? "" : "changed"}>
          <legend class="heard">{say("challenge.title")}</legend>
          {KINDS.map((kind) => (
            <label key={kind} class="option">
              <input type="radio" name="challenge" value={kind} checked={texts.challenge === kind} onChange={() => set("challenge", kind)} />
              <span><b>{say(`challenge.${kind}`)}</b> <small>{say(`challenge.${kind}.hint`)}</small></span>
            </label>
          ))}
          {problems.challenge && <p class="problem">{problems.challenge}</p>}
          {clashes.challenge && <p class="hint" role="status">{say("clash", { value: named(clashes.challenge) })}</p>}
        </fieldset>
        {texts.challenge === "proof_of_work" && (
          <Field id="challenge-difficulty" name={say("field.challenge_difficulty")} value={texts.challenge_difficulty} change={(text) => set("challenge_difficulty", text)}
            problem={problems.challenge_difficulty} news={clashes.challenge_difficulty && say("clash", { value: clashes.challenge_difficulty })} hint={say("hint.challenge_difficulty")} type="number" min={100} max={1_000_000} step={1}
            unit={say("unit.tries")} changed={texts.challenge_difficulty !== was.challenge_difficulty} />
        )}
        <div class="row end">
          <button type="button" class="quiet" disabled={!dirty} onClick={undo}>{say("undo")}</button>
          <button class="primary" disabled={busy || !dirty}>{say("apply")}</button>
        </div>
      </form>
    </section>
  );
}
