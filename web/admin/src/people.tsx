// Words to everybody in a room, and what an operator does for or to single people. Keeps no names.
import { useState } from "preact/hooks";
import { useAction } from "./action";
import { call, roomPath } from "./api";
import { confirmed } from "./confirm";
import { bytesLeft } from "./doors";
import { Field } from "./field";
import { count, moment, nameOf, say } from "./text";
import type { RoomLive } from "./wire";

export function Announce({ room }: { room: RoomLive }) {
  const [text, setText] = useState("");
  const { busy, problems, run } = useAction(["text"]);
  const announce = (words: string, done: string) => run(say("announce.title"), () => call("POST", roomPath(room.room, "/announce"), { text: words }), () => done);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (text.trim() && (await announce(text.trim(), say("done.announce")))) setText("");
  };
  return (
    <section class="card" aria-labelledby="announce-title">
      <h2 id="announce-title">{say("announce.title")}</h2>
      {room.notice && (
        <div class="notice">
          <p>{room.notice.text}</p>
          <div class="row between">
            <small class="soft">{moment(room.notice.at)}</small>
            <button type="button" class="quiet small" disabled={busy} onClick={() => announce("", say("done.announce_back"))}>{say("announce.back")}</button>
          </div>
        </div>
      )}
      <form onSubmit={submit} class="fields">
        <Field
          id="announce"
          name={say("announce.text")}
          value={text}
          change={setText}
          rows={3}
          problem={bytesLeft(text) < 0 ? say("announce.long") : problems.text}
          hint={`${say("announce.hint")} ${say("bytes_left", { n: count(bytesLeft(text)) })}`}
        />
        <div class="row end">
          <button class="primary" disabled={busy || text.trim() === "" || bytesLeft(text) < 0}>{say("announce.send")}</button>
        </div>
      </form>
    </section>
  );
}

interface AdmitAnswer {
  called?: number;
  mass_absence?: boolean;
  granted?: { subject: string; pass: boolean }[];
}

export function AdmitNow({ room }: { room: RoomLive }) {
  const [n, setN] = useState("10");
  const { busy, problems, run } = useAction(["count"]);
  const told = (answer: unknown) => {
    const { called = 0, mass_absence } = answer as AdmitAnswer;
    return mass_absence ? say("done.admit_absent") : say("done.admit", { n: count(called) });
  };
  const submit = (event: Event) => {
    event.preventDefault();
    void run(say("admit.title"), () => call("POST", roomPath(room.room, "/admit"), { count: Number(n) }), told);
  };
  return (
    <section class="card" aria-labelledby="admit-title">
      <h2 id="admit-title">{say("admit.title")}</h2>
      <form onSubmit={submit} class="inline" noValidate>
        <Field id="admit-count" name={say("admit.count")} value={n} change={setN} type="number" min={1} max={200} step={1} problem={problems.count} hint={say("admit.hint")} />
        <button class="primary" disabled={busy}>{say("admit.now")}</button>
      </form>
    </section>
  );
}

const ACTS = ["admit", "allow", "disallow", "block", "unblock", "revoke"] as const;
type Act = (typeof ACTS)[number];
const TAKES_AWAY: Act[] = ["block", "revoke"];

// One a line, as people paste them; commas do as well.
const names = (text: string): string[] => [...new Set(text.split(/[\n,]/).map((name) => name.trim()).filter(Boolean))];

export function Subjects({ room }: { room: RoomLive }) {
  const [text, setText] = useState("");
  const [act, setAct] = useState<Act>("admit");
  const { busy, problems, clear, run } = useAction(["subjects", "subject"]);
  const subjects = names(text);
  const told = (answer: unknown) => {
    const { granted, changed } = answer as AdmitAnswer & { changed?: boolean };
    if (granted) return say("done.granted", { n: granted.filter(({ pass }) => pass).length, of: granted.length });
    return changed ? say(`done.${act}`, { n: subjects.length }) : say("done.unchanged");
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (TAKES_AWAY.includes(act)) {
      const text = say(act === "block" ? "confirm.block_text" : "confirm.revoke_text", { who: subjects.join(", ") });
      const title = say(act === "block" ? "confirm.block" : "confirm.revoke");
      if (!(await confirmed({ about: nameOf(room), title, text, yes: say(`act.${act}`) }))) return;
    }
    const done = await run(say(`act.${act}`), () => call("POST", roomPath(room.room, `/${act}`), { subjects }), told);
    if (done) setText("");
  };
  return (
    <section class="card" aria-labelledby="subjects-title">
      <h2 id="subjects-title">{say("subjects.title")}</h2>
      <form onSubmit={submit} class="fields">
        <Field
          id="subjects"
          name={say("subjects.who")}
          value={text}
          change={(value) => {
            clear();
            setText(value);
          }}
          rows={2}
          problem={problems.subjects ?? problems.subject}
          hint={say(room.identity === "anonymous" ? "subjects.anonymous" : "subjects.entry")}
        />
        <div class="field">
          <label for="act">{say("subjects.what")}</label>
          <select id="act" value={act} aria-describedby="act-hint" onChange={(event) => setAct(event.currentTarget.value as Act)}>
            {ACTS.map((one) => <option key={one} value={one}>{say(`act.${one}`)}</option>)}
          </select>
          <p id="act-hint" class="soft small-text">{say(`act.${act}.hint`)}</p>
        </div>
        <div class="row end">
          <button class={TAKES_AWAY.includes(act) ? "danger" : "primary"} disabled={busy || subjects.length === 0}>{say(`act.${act}`)}</button>
        </div>
      </form>
    </section>
  );
}
