// What a place view and the line's later state mean for the person: pure, no page and no calls.

// The position to show: counted down by what was served since the view came, never above what was shown for this place.
export function shownPosition(view, line, last) {
  if (view.status !== "waiting" || !view.position) return undefined;
  const servedSince = Math.max(0, line.served - view.line.served);
  const now = Math.max(1, view.position - servedSince);
  return last && last.seq === view.seq ? Math.min(last.shown, now) : now;
}

// What to remember of a place: the position shown and the one it started from.
export function remember(view, shown, last) {
  if (shown === undefined) return last;
  const start = last && last.seq === view.seq ? Math.max(last.start, shown) : shown;
  return { seq: view.seq, shown, start };
}

// Percent of the way to the front.
export function progress(memory) {
  if (!memory || memory.start <= 1) return 100;
  return Math.round((100 * (memory.start - memory.shown)) / (memory.start - 1));
}

// What a view says about the estimate. A line whose state has changed since knows better than the view, and nothing yet.
export function estimateOf(view, line) {
  if (view.line.state === line.state) return view;
  return { no_estimate: ["not_open", "paused", "closed"].includes(line.state) ? line.state : "unknown" };
}

// Those who came later: between views the line's own count says how many are waiting in all.
export function behind(view, line, shown) {
  if (view.behind === undefined) return undefined;
  return line === view.line ? view.behind : Math.max(0, line.waiting - shown);
}

const IDLE_PROBLEMS = {
  not_open: "not_open",
  room_closed: "closed",
  room_sold_out: "sold_out",
  blocked: "blocked",
  challenge_required: "checking",
  unknown_room: "unknown_room",
  identity: "identity",
  entry: "entry",
  room_full: "room_full",
  recovering: "recovering",
  not_needed: "off",
};

// What the page shows, as one word (a key of the texts `headline.*` and `detail.*`).
export function modeOf({ view, line, problem }) {
  if (view?.go_to) return "off";
  const told = problem && IDLE_PROBLEMS[problem.code];
  if (told) return told;
  if (!view) {
    if (!problem) return "connecting";
    return problem.code === "network" ? "offline" : "busy";
  }
  if (view.status === "waiting" || view.status === "next") return waitingMode(view.status, line.state);
  if (view.status === "ended") return view.left ? "left" : "ended";
  if (view.status === "admitted" && view.pass?.claimed) return "inside";
  return view.status;
}

function waitingMode(status, state) {
  switch (state) {
    case "paused":
    case "off":
      return "paused";
    case "not_open":
      return "ready";
    case "closed":
      return "closed_kept";
    case "sold_out":
    case "recovering":
      return state;
    default:
      return status;
  }
}
