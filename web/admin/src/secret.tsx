// A key that was made just now, shown once: whoever closes this without having kept it needs another. Keeps it nowhere.
// It stays over every view until it is put away by hand, and goes with the session.
import { useEffect, useRef, useState } from "preact/hooks";
import { focusOn } from "./action";
import { session } from "./session";
import { Store, useStore } from "./store";
import { say } from "./text";

interface Secret {
  // Whose it is, as its operator knows it.
  about: string;
  key: string;
  // The id of what has the focus afterwards.
  back: string;
}

const secret = new Store<Secret | undefined>(undefined);

export function tellOnce(told: Secret): void {
  secret.set(told);
}

// A browser lets no page have its clipboard on an address without TLS: the key is selected, to be copied by hand.
async function copied(key: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(key);
    return true;
  } catch {
    return false;
  }
}

export function SecretOnce() {
  const told = useStore(secret);
  const [said, setSaid] = useState<"copied" | "by_hand" | undefined>();
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const putAway = () => {
    secret.set(undefined);
    // First the dialog, which gives the focus back to what may be gone.
    dialog.current?.close();
    if (told) focusOn(told.back);
  };
  useEffect(() => {
    setSaid(undefined);
    if (!told) {
      dialog.current?.close();
      return;
    }
    if (!dialog.current?.open) dialog.current?.showModal();
    const stay = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, [told]);
  useEffect(() => {
    const forget = () => secret.set(undefined);
    const deaf = session.listen(forget);
    return () => {
      deaf();
      forget();
    };
  }, []);
  const copy = async () => {
    field.current?.select();
    setSaid((await copied(told?.key ?? "")) ? "copied" : "by_hand");
  };
  // Escape is for questions: here it would throw the key away. A browser may close it all the same.
  const reopen = () => {
    if (secret.value) dialog.current?.showModal();
  };
  return (
    <dialog
      ref={dialog}
      class="secret"
      onCancel={(event) => event.preventDefault()}
      onClose={reopen}
      aria-labelledby="secret-title"
      aria-describedby="secret-about secret-text"
    >
      {told && (
        <div class="fields">
          <h2 id="secret-title">{say("secret.title")}</h2>
          <p id="secret-about"><b>{told.about}</b></p>
          <p id="secret-text" class="hint">{say("secret.text")}</p>
          <div class="field">
            <label for="secret-key">{say("secret.key")}</label>
            <div class="input">
              <input id="secret-key" ref={field} type="text" readOnly value={told.key} autocomplete="off" spellcheck={false} onFocus={(event) => event.currentTarget.select()} />
              <button type="button" class="primary" autofocus onClick={copy}>{say("secret.copy")}</button>
            </div>
            <p role="status" class="soft small-text">{said && say(`secret.${said}`)}</p>
          </div>
          <div class="row end">
            <button type="button" class="quiet" onClick={putAway}>{say("secret.kept")}</button>
          </div>
        </div>
      )}
    </dialog>
  );
}
