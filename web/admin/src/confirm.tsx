// "Are you sure?": a dialog of the browser's own, which keeps the focus and closes with Escape.
// A question lives no longer than the view and the session that it was asked in: it is then answered with no.
import { useEffect, useRef } from "preact/hooks";
import { session } from "./session";
import { Store, useStore } from "./store";
import { say } from "./text";

interface Question {
  // Which room or group it is about, as its operator knows it.
  about: string;
  title: string;
  text: string;
  yes: string;
}

const question = new Store<(Question & { answer: (yes: boolean) => void }) | undefined>(undefined);

function answer(yes: boolean): void {
  const asked = question.value;
  question.set(undefined);
  asked?.answer(yes);
}

export function confirmed(asked: Question): Promise<boolean> {
  answer(false);
  return new Promise((answer) => question.set({ ...asked, answer }));
}

export function Confirm() {
  const asked = useStore(question);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!dialog.current) return;
    if (!asked) {
      dialog.current.close();
      return;
    }
    dialog.current.returnValue = "";
    if (!dialog.current.open) dialog.current.showModal();
  }, [asked]);
  useEffect(() => {
    const no = () => answer(false);
    addEventListener("hashchange", no);
    const forget = session.listen(no);
    return () => {
      removeEventListener("hashchange", no);
      forget();
      no();
    };
  }, []);
  const close = () => {
    // A new question may be open by the time that the old one's end is heard of.
    if (!dialog.current?.open) answer(dialog.current?.returnValue === "yes");
  };
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="confirm-title" aria-describedby="confirm-about confirm-text">
      <form method="dialog">
        <h2 id="confirm-title">{asked?.title}</h2>
        <p id="confirm-about"><b>{asked?.about}</b></p>
        <p id="confirm-text">{asked?.text}</p>
        <div class="row end">
          <button class="quiet" value="no" autofocus>{say("cancel")}</button>
          <button class="danger" value="yes">{asked?.yes}</button>
        </div>
      </form>
    </dialog>
  );
}
