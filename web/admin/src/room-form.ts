// A form over a room's definition: read again whenever the room changes, and sent as a change of the version that whoever
// types knows. What is typed, and how it goes on when another changes it, the form's rules say. Draws nothing.
import { useEffect, useRef, useState } from "preact/hooks";
import { useAction } from "./action";
import { call, Refused, roomPath } from "./api";
import type { Drafts } from "./draft";
import { failed } from "./toast";
import type { RoomDefinition, RoomLive } from "./wire";

interface FormRules<Form, Typed> {
  fresh(base: RoomDefinition): Form;
  // `told`: whoever types knows of all that another has set.
  rebased(old: Form, now: RoomDefinition, told: boolean): Form;
  applied(old: Form, sent: Typed, now: RoomDefinition): Form;
}

interface Based {
  base: RoomDefinition;
  // The version that whoever types knows.
  known: number;
}

// `what`: how the form is called where reading fails.
export function useRoomForm<Form extends Based, Typed>(room: RoomLive, what: string, rules: FormRules<Form, Typed>) {
  const [form, setForm] = useState<Form | undefined>();
  const reads = useRef(0);
  const told = useRef(false);
  const read = async () => {
    const mine = (reads.current += 1);
    try {
      const now = await call<RoomDefinition>("GET", roomPath(room.room));
      // Only the last that was asked for is what is now.
      if (mine !== reads.current) return;
      const knows = told.current;
      told.current = false;
      setForm((old) => (old ? rules.rebased(old, now, knows) : rules.fresh(now)));
    } catch (error) {
      failed(what, error);
    }
  };
  // Another operator's change is shown at once, but never under the fingers of who is typing.
  useEffect(() => {
    if (form?.base.version !== room.version) void read();
  }, [room.room, room.version]);
  // Sends the change that comes of what was typed.
  const send = async ({ known }: Form, typed: Typed, change: object) => {
    try {
      const match = { "if-match": `"${known}"` };
      const now = await call<RoomDefinition>("PATCH", roomPath(room.room), change, match);
      // What was read before the change is no news.
      reads.current += 1;
      setForm((old) => (old ? rules.applied(old, typed, now) : rules.fresh(now)));
    } catch (error) {
      // Somebody else was quicker: show what is now, keep what was typed.
      if (error instanceof Refused && error.status === 412) {
        told.current = true;
        await read();
      }
      throw error;
    }
  };
  return { form, setForm, send };
}

// The same where all that is typed are texts, one a field of the definition.
export function useRoomTexts<Name extends string>(
  room: RoomLive,
  what: string,
  fields: readonly Name[],
  drafts: Drafts<RoomDefinition, Name>,
) {
  const { form, setForm, send } = useRoomForm(room, what, drafts);
  const { busy, problems, clear, wrong, run } = useAction(fields);
  if (!form) return undefined;
  const { base, texts, clashes } = form;
  const was = drafts.textsOf(base);
  const set = (name: Name, text: string) => {
    clear();
    setForm({ ...form, texts: { ...texts, [name]: text } });
  };
  const undo = () => {
    clear();
    setForm(drafts.fresh(base));
  };
  const apply = (change: object, done: () => string) => run(what, () => send(form, texts, change), done);
  const dirty = fields.some((name) => texts[name] !== was[name]);
  return { texts, was, clashes, dirty, set, undo, busy, problems, wrong, apply };
}
