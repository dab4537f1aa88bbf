// The past of one room: points a second, quiet ones left out. Draws nothing.
import type { Did, RoomHistory, RoomLive } from "./wire";

// As long as the server keeps it.
export const KEPT_S = 900;

export interface Point extends Did {
  second: number;
  waiting: number;
  live: number;
}

// A column for each thing that can be drawn, one entry a second; time in seconds since 1970.
export interface Columns {
  time: number[];
  waiting: number[];
  live: number[];
  admitted: number[];
  claimed: number[];
  no_shows: number[];
  refused: number[];
  // Mean time inside of those who finished in the last minute, in seconds; null where nobody did.
  dwell: (number | null)[];
}

const QUIET: Did = { joined: 0, admitted: 0, claimed: 0, no_shows: 0, left: 0, refused: 0, dwells: 0, dwell_ms: 0 };
// Flows are shown as means over so many seconds: a tick's work is never spread evenly.
const SMOOTH_S = 5;
const DWELL_S = 60;

export class Series {
  points: Point[] = [];
  // Whether the points are single seconds; else sums over steps, good for a small picture only.
  fine = false;

  // Takes in the server's past; what came live meanwhile stays.
  load(past: RoomHistory, fine: boolean): void {
    const at = (column: number[], index: number) => column[index] ?? 0;
    const loaded = past.second.map((second, i) => ({
      second,
      waiting: at(past.waiting, i),
      live: at(past.live, i),
      joined: at(past.joined, i),
      admitted: at(past.admitted, i),
      claimed: at(past.claimed, i),
      no_shows: at(past.no_shows, i),
      left: at(past.left, i),
      refused: at(past.refused, i),
      dwells: at(past.dwells, i),
      dwell_ms: at(past.dwell_ms, i),
    }));
    const until = loaded.at(-1)?.second ?? -1;
    this.points = [...loaded, ...this.points.filter((point) => point.second > until)];
    this.fine = fine;
  }

  add(second: number, room: RoomLive): void {
    const last = this.points.at(-1);
    if (last && last.second > second) return;
    const point = { ...room.did, second, waiting: room.waiting, live: room.live };
    // The same second told twice is one second.
    if (last?.second === second) this.points.pop();
    this.points.push(point);
    const old = this.points.findIndex(({ second: at }) => at >= second - KEPT_S);
    // One from before stays: it says how the room was when the past begins.
    if (old > 1) this.points.splice(0, old - 1);
  }

  // Every second of the last `span`, quiet ones too.
  dense(now: number, span: number): Point[] {
    const from = now - span + 1;
    const dense: Point[] = [];
    let index = this.points.findIndex(({ second }) => second >= from);
    if (index < 0) index = this.points.length;
    let before = this.points[index - 1];
    for (let second = from; second <= now; second += 1) {
      const point = this.points[index];
      if (point && point.second === second) {
        dense.push(point);
        before = point;
        index += 1;
      } else if (before) {
        dense.push({ ...QUIET, second, waiting: before.waiting, live: before.live });
      }
    }
    return dense;
  }
}

function means(values: number[], span: number): number[] {
  let sum = 0;
  return values.map((value, i) => {
    sum += value - (i >= span ? (values[i - span] ?? 0) : 0);
    return sum / Math.min(i + 1, span);
  });
}

export function columns(points: Point[], sinceMs: number): Columns {
  const flow = (of: (point: Point) => number) => means(points.map(of), SMOOTH_S);
  const dwells = means(points.map((point) => point.dwells), DWELL_S);
  const dwellMs = means(points.map((point) => point.dwell_ms), DWELL_S);
  return {
    time: points.map(({ second }) => sinceMs / 1000 + second),
    waiting: points.map(({ waiting }) => waiting),
    live: points.map(({ live }) => live),
    admitted: flow((point) => point.admitted),
    claimed: flow((point) => point.claimed),
    no_shows: flow((point) => point.no_shows),
    refused: flow((point) => point.refused),
    dwell: dwells.map((count, i) => (count > 0 ? (dwellMs[i] ?? 0) / count / 1000 : null)),
  };
}

export interface Minute extends Did {
  // The minute's end, in ms since 1970.
  at: number;
  waiting: number;
  live: number;
}

// The same by minutes, newest first: what a table shows.
export function minutes(points: Point[], sinceMs: number): Minute[] {
  const rows: Minute[] = [];
  let row: Minute | undefined;
  for (const point of [...points].reverse()) {
    const end = Math.ceil((sinceMs + point.second * 1000) / 60_000) * 60_000;
    if (!row || row.at !== end) {
      row = { ...QUIET, at: end, waiting: point.waiting, live: point.live };
      rows.push(row);
    }
    for (const key of Object.keys(QUIET) as (keyof Did)[]) row[key] += point[key];
  }
  return rows;
}
