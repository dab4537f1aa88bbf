// A value that tells those who look at it when it changes. Knows nothing of what it holds.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  #value: T;
  readonly #listeners = new Set<() => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of [...this.#listeners]) listener();
  }

  listen(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

// The store's value in a component, drawn again when it changes.
export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState(0);
  const seen = store.value;
  useEffect(() => {
    const again = () => draw((n) => n + 1);
    // It may have changed between the drawing and this.
    if (store.value !== seen) again();
    return store.listen(again);
  }, [store]);
  return seen;
}
