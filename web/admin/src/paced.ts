// Runs something at once, then at most once in a while and never twice at a time. Knows not what it runs.

// What is asked for meanwhile is one more run. What fails is run with the next asking.
export function paced(run: () => Promise<void>, ms: number): () => void {
  let [busy, again] = [false, false];
  const go = async () => {
    again = busy;
    if (busy) return;
    busy = true;
    await Promise.all([run().catch(() => undefined), new Promise((done) => setTimeout(done, ms))]);
    busy = false;
    if (again) void go();
  };
  return () => void go();
}
