// One room: its numbers, its last minutes, its controls and its trail.
import { useEffect, useRef } from "preact/hooks";
import { Audit } from "./audit";
import { ChallengeCard } from "./challenge";
import { Chart } from "./chart";
import { Doors } from "./doors";
import { feed, loadPast, perSecond, seriesOf } from "./feed";
import { ModeCard } from "./mode";
import { Badge, Figure, Meter } from "./parts";
import { AdmitNow, Announce, Subjects } from "./people";
import { Speed } from "./speed";
import { useStore } from "./store";
import { count, exact, rate, say, sayOr, span, titleOf } from "./text";
import type { RoomLive } from "./wire";

function Numbers({ room }: { room: RoomLive }) {
  const refused = perSecond(room.room, "refused");
  const ended = room.no_shows_total + room.claimed_total;
  const missed = ended > 0 ? say("no_show_share", { n: Math.round((room.no_shows_total / ended) * 100) }) : undefined;
  const { dwell } = room;
  return (
    <section class="card" aria-label={say("numbers")}>
      <Meter name={say("line.live")} value={room.live} max={room.capacity} />
      <dl class="figures">
        <Figure name={say("line.waiting")} value={<span data-of="waiting">{count(room.waiting)}</span>} />
        <Figure name={say("admitted_per_s")} value={rate(perSecond(room.room, "admitted"))} note={say("of_rate", { rate: exact(room.rate_per_s) })} />
        <Figure name={say("refused_per_s")} value={rate(refused)} {...(refused >= 1 ? { tone: "bad" as const } : {})} />
        <Figure name={say("line.absent")} value={count(room.absent)} />
        <Figure name={say("admitted_total")} value={<span data-of="admitted">{count(room.admitted_total)}</span>} />
        <Figure name={say("claimed_total")} value={count(room.claimed_total)} />
        <Figure name={say("no_shows_total")} value={count(room.no_shows_total)} note={missed} />
        <Figure name={say("left_total")} value={count(room.left_total)} />
        <Figure
          name={say("line.dwell")}
          value={room.dwell_mean_ms === undefined ? "–" : span(room.dwell_mean_ms)}
          note={dwell && say("dwell_spread", { half: span(dwell.half_ms), most: span(dwell.most_ms) })}
        />
      </dl>
    </section>
  );
}

function Refusals({ refused }: { refused: Record<string, number> }) {
  const rows = Object.entries(refused).sort(([, a], [, b]) => b - a);
  if (rows.length === 0) return null;
  return (
    <section class="card" aria-labelledby="refusals-title">
      <h2 id="refusals-title">{say("refusals.title")}</h2>
      <p class="soft small-text">{say("refusals.text")}</p>
      <table>
        <thead>
          <tr>
            <th scope="col">{say("refusals.reason")}</th>
            <th scope="col">{say("refusals.calls")}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([code, calls]) => (
            <tr key={code}>
              <th scope="row">{sayOr(`refusal.${code}`, sayOr(`code.${code}`, code))}</th>
              <td>{count(calls)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

// A server that was just started knows its rooms a moment later: so long the controls stay, with what was typed.
const GONE_AFTER_MS = 10_000;

// The room of the frame, or as it was last while it may come back.
function useKept(room: RoomLive | undefined): RoomLive | undefined {
  const last = useRef<RoomLive | undefined>(undefined);
  const missedAt = useRef<number | undefined>(undefined);
  if (room) {
    last.current = room;
    missedAt.current = undefined;
    return room;
  }
  missedAt.current ??= Date.now();
  if (Date.now() - missedAt.current > GONE_AFTER_MS) last.current = undefined;
  return last.current;
}

export function RoomView({ id }: { id: string }) {
  const { frame, restarts } = useStore(feed);
  useEffect(() => {
    // The picture then begins with what comes live.
    loadPast(id).catch(() => undefined);
  }, [id, restarts]);
  const listed = frame?.rooms.find((room) => room.room === id);
  const room = useKept(listed);
  useEffect(() => {
    if (room) document.title = `${titleOf(room.title, id)} · ${say("brand")}`;
  });
  if (!frame) return <h1 class="waiting-for-data">{say("loading")}</h1>;
  if (!room) {
    return (
      <>
        <h1>{say("room.missing")}</h1>
        <p class="soft">{say("room.missing_text", { room: id })}</p>
        <p><a href="#/">{say("back")}</a></p>
      </>
    );
  }
  const series = seriesOf(id);
  return (
    <>
      <div class="room-head">
        <a href="#/" class="back">{`← ${say("rooms")}`}</a>
        <div class="row">
          <h1 tabIndex={-1}>{titleOf(room.title, id)}</h1>
          <Badge state={room.state} />
          {!listed && <span role="status" class="soft">{say("loading")}</span>}
          {room.lull && <span class="badge paused">{say("lull")}</span>}
          {(room.mode === "auto" || room.mode === "shadow") && <span class="badge">{say(`mode.${room.mode}`)}</span>}
          {room.queueing && <span class="badge paused">{say("queueing")}</span>}
        </div>
        <p class="soft small-text">
          {id}
          {room.group && ` · ${say("group_of", { name: room.group })}`} · <a href={`/rooms/${id}`} target="_blank" rel="noopener">{say("visitor_page")}</a>
        </p>
      </div>
      <div class="room">
        <div class="watch">
          <Numbers room={room} />
          <Doors room={room} />
          <Chart past={(s) => series.dense(frame.second, s)} sinceMs={Date.parse(frame.counting_since)} />
        </div>
        <div class="steer" role="group" aria-label={say("controls")}>
          <Speed key={id} room={room} />
          <ModeCard key={`mode-${id}`} room={room} />
          {room.identity === "anonymous" && <ChallengeCard key={`challenge-${id}`} room={room} />}
          <AdmitNow room={room} />
          <Announce key={`announce-${id}`} room={room} />
          <Subjects key={`subjects-${id}`} room={room} />
        </div>
        <div class="trail">
          <Refusals refused={room.refused} />
          <Audit target={`room:${id}`} />
        </div>
      </div>
    </>
  );
}
