// Asks for an operator's key and tries it before it is kept. Nothing of the page is shown without one.
import { useEffect, useRef, useState } from "preact/hooks";
import { Lost, Refused, send } from "./api";
import { session, signIn, type SignedOut } from "./session";
import { useStore } from "./store";
import { language, say, type Key } from "./text";
import { wordsOf } from "./toast";

const REASONS: Record<SignedOut, Key> = { wrong: "sign_in.wrong", scope: "sign_in.scope", ended: "sign_in.ended" };

function reasonOf(error: unknown): string {
  if (error instanceof Refused && error.status === 401) return say("sign_in.wrong");
  if (error instanceof Refused && error.status === 403) return say("sign_in.scope");
  if (error instanceof Lost) return say("sign_in.lost");
  return wordsOf(error);
}

export function SignIn() {
  const { because } = useStore(session);
  // In the language of the moment that it is drawn.
  const [{ words }, setProblem] = useState({ words: () => (because ? say(REASONS[because]) : "") });
  const problem = words();
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    document.title = `${say("sign_in")} · ${say("brand")}`;
  }, [language.value]);
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event) => {
    event.preventDefault();
    const key = field.current?.value.trim() ?? "";
    if (key === "") {
      setProblem({ words: () => say("sign_in.empty") });
      field.current?.focus();
      return;
    }
    setBusy(true);
    try {
      // A header takes visible ASCII only; what else was pasted is no key.
      if (!/^[\x21-\x7e]+$/.test(key)) throw new Refused(401, "api_key_invalid", undefined, undefined, undefined);
      await send("GET", "rooms", { signal: AbortSignal.timeout(10_000) }, key);
      signIn(key);
    } catch (error) {
      setProblem({ words: () => reasonOf(error) });
      setBusy(false);
      field.current?.focus();
    }
  };
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit} noValidate>
        <h1>{say("sign_in.title")}</h1>
        <p class="soft">{say("sign_in.text")}</p>
        <label for="key">{say("sign_in.key")}</label>
        <input
          id="key"
          ref={field}
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          placeholder="jari_…"
          aria-invalid={problem !== ""}
          aria-describedby="key-problem key-hint"
        />
        <p id="key-problem" class="problem" role="alert">{problem}</p>
        <p id="key-hint" class="soft small-text">{say("sign_in.hint")}</p>
        <button class="primary" disabled={busy}>{say(busy ? "sign_in.busy" : "sign_in")}</button>
      </form>
    </main>
  );
}
