// A room's doors: pause, open, close, sold out. What takes something away from people is asked twice.
import { useRef, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, roomPath } from "./api";
import { confirmed } from "./confirm";
import { Field } from "./field";
import { count, dateAndTime, nameOf, say } from "./text";
import type { RoomLive } from "./wire";

// Bytes that the server takes of a message or a notice.
export const WORDS_MAX_BYTES = 1_000;
export const bytesLeft = (text: string): number => WORDS_MAX_BYTES - new TextEncoder().encode(text).length;

// The last moment that a date on the wire can tell.
const REOPENS_MAX = "9999-12-31T23:59";

function CloseForm({ room, done }: { room: RoomLive; done: () => void }) {
  const [message, setMessage] = useState("");
  const [reopens, setReopens] = useState("");
  const { busy, problems, clear, wrong, run } = useAction(["message", "reopens_at"]);
  const form = useRef<HTMLFormElement>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    // A date that is not whole has no value, but is not valid either.
    const whole = form.current?.querySelector<HTMLInputElement>("#close-reopens")?.validity.valid ?? true;
    const readable = reopens === "" || !Number.isNaN(Date.parse(reopens));
    if (wrong(whole && readable ? {} : { reopens_at: say("close.reopens_bad") })) return;
    const asked = { about: nameOf(room), title: say("confirm.close"), text: say("confirm.close_text"), yes: say("doors.close") };
    if (!(await confirmed(asked))) return;
    const close = async () => {
      const body = {
        ...(message.trim() ? { message: message.trim() } : {}),
        // The field has no zone: it is the operator's own.
        ...(reopens ? { reopens_at: new Date(reopens).toISOString() } : {}),
      };
      await call("POST", roomPath(room.room, "/close"), body);
    };
    if (await run(say("doors.close"), close, () => say("done.close"))) done();
  };
  return (
    <form ref={form} onSubmit={submit} class="fields inset" noValidate>
      <Field
        id="close-message"
        name={say("close.message")}
        value={message}
        change={setMessage}
        rows={2}
        problem={problems.message}
        hint={say("bytes_left", { n: count(bytesLeft(message)) })}
      />
      <Field
        id="close-reopens"
        name={say("close.reopens_at")}
        value={reopens}
        change={(value) => {
          clear();
          setReopens(value);
        }}
        type="datetime-local"
        max={REOPENS_MAX}
        problem={problems.reopens_at}
        hint={say("close.reopens_hint")}
      />
      <div class="row end">
        <button type="button" class="quiet" onClick={done}>{say("cancel")}</button>
        <button class="danger" disabled={busy}>{say("doors.close")}</button>
      </div>
    </form>
  );
}

export function Doors({ room }: { room: RoomLive }) {
  const [closing, setClosing] = useState(false);
  const { busy, run } = useAction();
  const post = (action: string, done: string, body: unknown = {}) =>
    run(say("doors.title"), () => call("POST", roomPath(room.room, `/${action}`), body), () => done);
  const open = async () => {
    const early = room.state === "not_open";
    const asked = { about: nameOf(room), title: say("confirm.open"), text: say("confirm.open_text"), yes: say("doors.open") };
    if (early && !(await confirmed(asked))) return;
    await post("open", say("done.open"));
  };
  const soldOut = async () => {
    const text = say("confirm.sold_out_text");
    if (!(await confirmed({ about: nameOf(room), title: say("confirm.sold_out"), text, yes: say("doors.sold_out") }))) return;
    await post("sold-out", say("done.sold_out"), { sold_out: true });
  };
  const shut = room.state === "closed" || room.state === "not_open";
  return (
    <section class="card" aria-labelledby="doors-title">
      <h2 id="doors-title" class="heard">{say("doors.title")}</h2>
      <p class="soft">
        {say(`state.${room.state}.text`)}
        {room.state === "not_open" && room.opens_at && ` ${say("opens_at", { time: dateAndTime(room.opens_at) })}.`}
        {room.state === "closed" && room.reopens_at && ` ${say("reopens_at", { time: dateAndTime(room.reopens_at) })}.`}
      </p>
      {room.message && <blockquote>{room.message}</blockquote>}
      <div class="doors">
        {room.paused ? (
          <button type="button" class="primary" disabled={busy} onClick={() => post("resume", say("done.resume"))}>{say("doors.resume")}</button>
        ) : (
          <button type="button" class="warn" disabled={busy} onClick={() => post("pause", say("done.pause"))}>{say("doors.pause")}</button>
        )}
        {shut ? (
          <button type="button" class="primary" disabled={busy} onClick={open}>{say("doors.open")}</button>
        ) : (
          <button type="button" class="quiet" aria-expanded={closing} onClick={() => setClosing(!closing)}>{say("doors.close_ask")}</button>
        )}
        {room.sold_out ? (
          <button type="button" class="quiet" disabled={busy} onClick={() => post("sold-out", say("done.not_sold_out"), { sold_out: false })}>{say("doors.not_sold_out")}</button>
        ) : (
          <button type="button" class="quiet" disabled={busy} onClick={soldOut}>{say("doors.sold_out_ask")}</button>
        )}
      </div>
      {closing && !shut && <CloseForm room={room} done={() => setClosing(false)} />}
    </section>
  );
}
