// "Are you sure?": a dialog of the browser's own, which keeps the focus and closes with Escape.
import { useEffect, useRef } from "preact/hooks";
import { Store, useStore } from "./store";
import { say } from "./text";

interface Question {
  title: string;
  text: string;
  yes: string;
  answer: (yes: boolean) => void;
}

const question = new Store<Question | undefined>(undefined);

export function confirmed(title: string, text: string, yes: string): Promise<boolean> {
  question.value?.answer(false);
  return new Promise((answer) => question.set({ title, text, yes, answer }));
}

export function Confirm() {
  const asked = useStore(question);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!asked || !dialog.current) return;
    dialog.current.returnValue = "";
    if (!dialog.current.open) dialog.current.showModal();
  }, [asked]);
  const close = () => {
    asked?.answer(dialog.current?.returnValue === "yes");
    question.set(undefined);
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title" aria-describedby="confirm-text">
      <form method="dialog">
        <h2 id="confirm-title">{asked?.title}</h2>
        <p id="confirm-text">{asked?.text}</p>
        <div class="row end">
          <button class="quiet" value="no" autofocus>{say("cancel")}</button>
          <button class="danger" value="yes">{asked?.yes}</button>
        </div>
      </form>
    </dialog>
  );
}
