// Small pieces that several views show: a state's badge, a meter, a number with its name, a picture of the last minutes.
import type { ComponentChildren } from "preact";
import { KEPT_S, type Point } from "./series";
import { count, say } from "./text";
import type { LineState } from "./wire";

export function Badge({ state }: { state: LineState }) {
  return <span class={`badge ${state}`}>{say(`state.${state}`)}</span>;
}

export function Figure({ name, value, note, tone }: { name: string; value: ComponentChildren; note?: ComponentChildren; tone?: "bad" }) {
  return (
    <div class={tone ? `figure ${tone}` : "figure"}>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {note !== undefined && <small>{note}</small>}
      </dd>
    </div>
  );
}

// How much of a capacity is taken.
export function Meter({ name, value, max }: { name: string; value: number; max: number }) {
  const full = value >= max;
  const text = say("of", { n: count(value), max: count(max) });
  return (
    <div class="meter">
      <span class="meter-name">{name}</span>
      <span class="meter-text">{text}</span>
      <svg class={full ? "bar full" : "bar"} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="4" />
        <rect class="fill" width={max === 0 ? 0 : Math.min(100, (value / max) * 100)} height="4" />
      </svg>
    </div>
  );
}

const SPARK = { width: 240, height: 44 };

// People waiting over the last quarter of an hour; its numbers stand beside it, so it is a picture only.
export function Spark({ points, now }: { points: Point[]; now: number }) {
  const { width, height } = SPARK;
  const most = Math.max(1, ...points.map(({ waiting }) => waiting));
  const x = (second: number) => Math.max(0, ((second - (now - KEPT_S)) / KEPT_S) * width);
  const y = (waiting: number) => height - 2 - (waiting / most) * (height - 4);
  // Between two points nothing changed: steps, not slopes.
  let line = "";
  for (const { second, waiting } of points) {
    line += line ? `H${x(second).toFixed(1)}V${y(waiting).toFixed(1)}` : `M${x(second).toFixed(1)} ${y(waiting).toFixed(1)}`;
  }
  const first = points[0];
  const area = first ? `${line}H${width}V${height}H${x(first.second).toFixed(1)}Z` : "";
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      <path class="area" d={area} />
      <path class="line" d={line ? `${line}H${width}` : ""} />
    </svg>
  );
}

// What is seldom looked at.
export function Folded({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <details>
      <summary>{name}</summary>
      {children}
    </details>
  );
}
