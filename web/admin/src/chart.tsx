// The room's last minutes as pictures, one below the other on one time axis, and the same as a table. Loads nothing.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { columns, minutes, type Columns, type Point } from "./series";
import { clock, count, language, minute, rate, say, span, type Key } from "./text";

type Name = Exclude<keyof Columns, "time">;

interface Line {
  name: Name;
  color: string;
  filled?: boolean;
}

interface Panel {
  title: Key;
  height: number;
  lines: Line[];
  // The scale reaches at least so far.
  least: number;
  show: (value: number) => string;
}

const PANELS: Panel[] = [
  {
    title: "chart.people",
    height: 180,
    lines: [{ name: "waiting", color: "--waiting", filled: true }, { name: "live", color: "--inside" }],
    least: 4,
    show: (value) => count(Math.round(value)),
  },
  {
    title: "chart.flows",
    height: 150,
    lines: [
      { name: "admitted", color: "--admitted" },
      { name: "claimed", color: "--claimed" },
      { name: "no_shows", color: "--no-shows" },
      { name: "refused", color: "--refused" },
    ],
    least: 1,
    show: rate,
  },
  { title: "chart.dwell", height: 110, lines: [{ name: "dwell", color: "--dwell" }], least: 10, show: (seconds) => span(seconds * 1000) },
];

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const DARK = matchMedia("(prefers-color-scheme: dark)");

// Room for "1,234,567" left of the picture.
const AXIS_WIDTH = 64;

function options(panel: Panel, spanS: number, width: number, hover: (index: number | null) => void): uPlot.Options {
  const axis = { stroke: css("--soft"), grid: { stroke: css("--line"), width: 1 }, ticks: { show: false }, font: `12px ${css("--font")}` };
  return {
    width,
    height: panel.height,
    legend: { show: false },
    cursor: { y: false, sync: { key: "room" }, drag: { x: false, y: false }, points: { size: 7 } },
    padding: [8, 26, 0, 0],
    // The whole span, also where nothing was recorded yet.
    scales: { x: { time: true, range: (_, __, max) => [max - spanS, max] }, y: { range: (_, __, max) => [0, Math.max(panel.least, max * 1.1)] } },
    axes: [
      { ...axis, size: 26, space: 70, values: (_, ticks) => ticks.map((tick) => minute(tick * 1000)), incrs: [60, 120, 300] },
      { ...axis, size: AXIS_WIDTH, space: 36, values: (_, ticks) => ticks.map((tick) => panel.show(tick)) },
    ],
    series: [
      {},
      ...panel.lines.map(({ color, filled }) => ({
        stroke: css(color),
        width: 2,
        points: { show: false },
        spanGaps: false,
        ...(filled ? { fill: `${css(color)}22` } : {}),
      })),
    ],
    hooks: { setCursor: [(plot: uPlot) => hover(plot.cursor.idx ?? null)] },
  };
}

const dataOf = (panel: Panel, data: Columns): uPlot.AlignedData =>
  [data.time, ...panel.lines.map(({ name }) => data[name])] as uPlot.AlignedData;

interface PictureProps {
  panel: Panel;
  spanS: number;
  data: Columns;
  hover: (index: number | null) => void;
  at: number;
}

function Picture({ panel, spanS, data, hover, at }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [dark, setDark] = useState(DARK.matches);
  useEffect(() => {
    const changed = () => setDark(DARK.matches);
    DARK.addEventListener("change", changed);
    return () => DARK.removeEventListener("change", changed);
  }, []);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const made = new uPlot(options(panel, spanS, element.clientWidth, hover), dataOf(panel, data), element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: panel.height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
    // The data follow below; a picture is made anew only for other colours, words or spans.
  }, [dark, language.value, spanS]);
  useEffect(() => plot.current?.setData(dataOf(panel, data)), [data]);
  const title = say(panel.title);
  return (
    <figure class="picture">
      <figcaption>
        <span>{title}</span>
        <ul class="legend">
          {panel.lines.map(({ name, color }) => {
            const value = data[name][at] ?? null;
            return (
              <li key={name} class={`key ${color.slice(2)}`}>
                {say(`line.${name}`)} <b>{value === null ? "–" : panel.show(value)}</b>
              </li>
            );
          })}
        </ul>
      </figcaption>
      <div ref={box} role="img" aria-label={say("chart.alt", { title })} />
    </figure>
  );
}

function Table({ points, sinceMs }: { points: Point[]; sinceMs: number }) {
  const rows = minutes(points, sinceMs);
  const heads: Key[] = ["line.waiting", "line.live", "line.admitted", "line.claimed", "line.no_shows", "line.refused", "line.dwell"];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={say("table.title")}>
      <table>
        <caption>{say("table.caption")}</caption>
        <thead>
          <tr>
            <th scope="col">{say("table.minute")}</th>
            {heads.map((head) => <th key={head} scope="col">{say(head)}</th>)}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.at}>
              <th scope="row">{minute(row.at - 60_000)}</th>
              <td>{count(row.waiting)}</td>
              <td>{count(row.live)}</td>
              <td>{count(row.admitted)}</td>
              <td>{count(row.claimed)}</td>
              <td>{count(row.no_shows)}</td>
              <td>{count(row.refused)}</td>
              <td>{row.dwells > 0 ? span(row.dwell_ms / row.dwells) : "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const SPANS_S = [120, 300, 900] as const;

export function Chart({ past, sinceMs }: { past: (span: number) => Point[]; sinceMs: number }) {
  const [spanS, setSpan] = useState<number>(300);
  const [asTable, setTable] = useState(false);
  const [hovered, hover] = useState<number | null>(null);
  const points = past(spanS);
  const data = useMemo(() => columns(points, sinceMs), [points.at(-1), spanS]);
  const at = hovered ?? data.time.length - 1;
  const time = data.time[at];
  return (
    <section class="card" aria-labelledby="chart-title">
      <div class="row between">
        <h2 id="chart-title">{say("chart.title")}</h2>
        <div class="row">
          <div class="choice" role="group" aria-label={say("chart.span")}>
            {SPANS_S.map((s) => (
              <button key={s} type="button" aria-pressed={s === spanS} onClick={() => setSpan(s)}>{span(s * 1000)}</button>
            ))}
          </div>
          <button type="button" class="quiet small" aria-pressed={asTable} onClick={() => setTable(!asTable)}>{say("chart.table")}</button>
        </div>
      </div>
      {asTable ? (
        <Table points={points} sinceMs={sinceMs} />
      ) : (
        <>
          <p class="soft small-text">{time === undefined ? say("chart.empty") : hovered === null ? say("chart.now") : clock(time * 1000)}</p>
          {PANELS.map((panel) => <Picture key={panel.title} panel={panel} spanS={spanS} data={data} hover={hover} at={at} />)}
        </>
      )}
    </section>
  );
}
