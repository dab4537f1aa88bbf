// The work that a room asks for before it gives a place: in a worker, so that the page stays smooth, or in slices where
// there is none. Its script is loaded only then.

const PROOF_HREF = globalThis.document?.body.dataset.proof;

// Answers the solution as a join shows it; undefined where `signal` ended it. `tell` hears how far it is, in percent.
export async function solved(challenge, tell, signal) {
  const solution = await inWorker(challenge, tell, signal).catch(() => inSlices(challenge, tell, signal));
  return solution && btoa(JSON.stringify({ challenge, solution }));
}

function inWorker(challenge, tell, signal) {
  return new Promise((done, fail) => {
    const worker = new Worker(PROOF_HREF);
    const end = (finish, value) => {
      worker.terminate();
      finish(value);
    };
    signal.addEventListener("abort", () => end(done));
    worker.onerror = () => end(fail);
    worker.onmessage = ({ data }) => {
      if (data.failed) end(fail);
      else if (data.percent === undefined) end(done, data);
      else tell(data.percent);
    };
    worker.postMessage(challenge.parameters);
  });
}

async function inSlices(challenge, tell, signal) {
  await import(PROOF_HREF);
  return globalThis.proof.solve(challenge.parameters, tell, signal);
}
