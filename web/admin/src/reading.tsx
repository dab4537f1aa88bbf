// What the operators' API tells of something, read at once and again with every change that anybody makes. Changes nothing.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { call } from "./api";
import { feed } from "./feed";
import { paced } from "./paced";
import { useStore } from "./store";
import { say } from "./text";
import { wordsOf } from "./toast";

// However many changes come in, it is read at most so often.
const EVERY_MS = 1_000;
// What no change tells of, such as a key's last use, comes to the eye so soon; what could not be read is tried again.
const AGAIN_MS = 15_000;

export interface Reading<T> {
  // As it was read last, also where it cannot be read now.
  value: T | undefined;
  error: unknown;
  again: () => void;
  // An answer to a change told it: what was asked for before that is no news.
  settle: (now: T) => void;
}

// Of one path for as long as it is shown: whoever shows another is made anew.
export function useReading<T>(path: string): Reading<T> {
  const { frame } = useStore(feed);
  const [value, setValue] = useState<T | undefined>();
  const [error, setError] = useState<unknown>();
  const asked = useRef(0);
  const gone = useRef(false);
  const told = (now: T) => {
    setValue(() => now);
    setError(undefined);
  };
  const again = useMemo(() => {
    const read = async () => {
      if (gone.current) return;
      const mine = (asked.current += 1);
      try {
        const now = await call<T>("GET", path);
        if (mine === asked.current) told(now);
      } catch (error) {
        if (mine === asked.current) setError(() => error);
      }
    };
    return paced(read, EVERY_MS);
  }, [path]);
  useEffect(() => {
    gone.current = false;
    const timer = setInterval(again, AGAIN_MS);
    return () => {
      gone.current = true;
      clearInterval(timer);
    };
  }, [again]);
  useEffect(again, [again, frame?.changes]);
  const settle = (now: T) => {
    asked.current += 1;
    told(now);
  };
  return { value, error, again, settle };
}

// That it is being read, or why it cannot be: nothing where all is well.
export function Unread({ reading }: { reading: Omit<Reading<unknown>, "settle"> }) {
  const { value, error, again } = reading;
  if (error !== undefined) {
    const text = wordsOf(error);
    return (
      <p class="hint row between" role="alert">
        <span>{say(value === undefined ? "error.unread" : "error.old", { text })}</span>
        <button type="button" class="quiet small" onClick={again}>{say("again")}</button>
      </p>
    );
  }
  return value === undefined ? <p class="soft">{say("loading")}</p> : null;
}
