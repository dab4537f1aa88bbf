// Who is signed in: the API key, kept for this tab only and sent in a header only. Checks no key by itself.
import { Store } from "./store";

const KEPT = "jari:admin:key";

// Why nobody is signed in any more.
export type SignedOut = "wrong" | "scope" | "ended";

export interface Session {
  key?: string;
  because?: SignedOut;
}

// A browser may forbid storage; the key then lives as long as the page.
function kept(): string | undefined {
  try {
    return sessionStorage.getItem(KEPT) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(key: string | undefined): void {
  try {
    if (key === undefined) sessionStorage.removeItem(KEPT);
    else sessionStorage.setItem(KEPT, key);
  } catch {
    // As above.
  }
}

function initial(): Session {
  const key = kept();
  return key === undefined ? {} : { key };
}

export const session = new Store<Session>(initial());

export function signIn(key: string): void {
  keep(key);
  session.set({ key });
}

export function signOut(because?: SignedOut): void {
  keep(undefined);
  session.set(because ? { because } : {});
}

// `jari_<id>_<secret>`: the id is public and stands in the audit trail.
export function ownKeyId(): string | undefined {
  return session.value.key?.split("_")[1];
}
