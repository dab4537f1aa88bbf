// All rooms and limit groups at a glance. Steers nothing: a room's own view does.
import { useState } from "preact/hooks";
import { feed, perSecond, seriesOf } from "./feed";
import { GroupForm } from "./group-form";
import { Badge, Figure, Meter, Spark } from "./parts";
import { useStore } from "./store";
import { count, dateAndTime, exact, rate, say, titleOf } from "./text";
import type { GroupLive, LiveFrame, RoomLive } from "./wire";

const sum = (rooms: RoomLive[], of: (room: RoomLive) => number): number => rooms.reduce((total, room) => total + of(room), 0);

function Totals({ frame }: { frame: LiveFrame }) {
  const { rooms } = frame;
  const refused = sum(rooms, (room) => perSecond(room.room, "refused"));
  return (
    <dl class="figures card">
      <Figure name={say("rooms")} value={count(rooms.length)} />
      <Figure name={say("line.waiting")} value={count(sum(rooms, (room) => room.waiting))} />
      <Figure name={say("line.live")} value={count(sum(rooms, (room) => room.live))} />
      <Figure name={say("admitted_per_s")} value={rate(sum(rooms, (room) => perSecond(room.room, "admitted")))} />
      <Figure name={say("refused_per_s")} value={rate(refused)} {...(refused >= 1 ? { tone: "bad" as const } : {})} />
      <Figure name={say("streams")} value={count(frame.streams)} />
    </dl>
  );
}

function RoomCard({ room, frame }: { room: RoomLive; frame: LiveFrame }) {
  const title = titleOf(room.title, room.room);
  const refused = perSecond(room.room, "refused");
  return (
    <li class="card room-card" data-room={room.room}>
      <div class="row between top">
        <h3><a href={`#/rooms/${room.room}`}>{title}</a></h3>
        <div class="row">
          {room.queueing && <span class="badge paused">{say("queueing")}</span>}
          <Badge state={room.state} />
        </div>
      </div>
      <p class="soft small-text">
        {room.room}
        {room.group && ` · ${say("group_of", { name: room.group })}`}
        {room.state === "not_open" && room.opens_at && ` · ${say("opens_at", { time: dateAndTime(room.opens_at) })}`}
        {room.state === "closed" && room.reopens_at && ` · ${say("reopens_at", { time: dateAndTime(room.reopens_at) })}`}
      </p>
      <div class="big">
        <p><strong data-of="waiting">{count(room.waiting)}</strong> <span>{say("line.waiting")}</span></p>
        <Spark points={seriesOf(room.room).points} now={frame.second} />
      </div>
      <Meter name={say("line.live")} value={room.live} max={room.capacity} />
      <dl class="figures tight">
        <Figure name={say("admitted_per_s")} value={rate(perSecond(room.room, "admitted"))} note={say("of_rate", { rate: exact(room.rate_per_s) })} />
        <Figure name={say("refused_per_s")} value={rate(refused)} {...(refused >= 1 ? { tone: "bad" as const } : {})} />
        <Figure name={say("line.absent")} value={count(room.absent)} />
      </dl>
    </li>
  );
}

function GroupCard({ group, rooms }: { group: GroupLive; rooms: RoomLive[] }) {
  const [editing, edit] = useState(false);
  const admitted = sum(rooms, (room) => perSecond(room.room, "admitted"));
  return (
    <li class="card">
      <div class="row between top">
        <h3>{group.group}</h3>
        <button type="button" class="quiet small" aria-expanded={editing} onClick={() => edit(!editing)}>{say("change_limits")}</button>
      </div>
      <Meter name={say("line.live")} value={group.live} max={group.capacity} />
      <dl class="figures tight">
        <Figure name={say("line.waiting")} value={count(group.waiting)} />
        <Figure name={say("admitted_per_s")} value={rate(admitted)} note={say("of_rate", { rate: exact(group.rate_per_s) })} />
      </dl>
      {editing && <GroupForm group={group.group} done={() => edit(false)} />}
      <div class="scroll" tabIndex={0} role="region" aria-label={say("members_of", { name: group.group })}>
        <table class="members">
          <thead>
            <tr>
              <th scope="col">{say("room")}</th>
              <th scope="col">{say("line.live")}</th>
              <th scope="col">{say("line.waiting")}</th>
              <th scope="col">{say("admitted_per_s")}</th>
            </tr>
          </thead>
          <tbody>
            {rooms.map((room) => (
              <tr key={room.room}>
                <th scope="row"><a href={`#/rooms/${room.room}`}>{titleOf(room.title, room.room)}</a></th>
                <td>{count(room.live)}</td>
                <td>{count(room.waiting)}</td>
                <td>{rate(perSecond(room.room, "admitted"))}</td>
              </tr>
            ))}
            {rooms.length === 0 && <tr><td colSpan={4}>{say("no_members")}</td></tr>}
          </tbody>
        </table>
      </div>
    </li>
  );
}

export function Overview() {
  const { frame } = useStore(feed);
  if (!frame) return <h1 class="waiting-for-data">{say("loading")}</h1>;
  return (
    <>
      <h1 class="heard">{say("overview")}</h1>
      <Totals frame={frame} />
      <section aria-labelledby="rooms-title">
        <h2 id="rooms-title">{say("rooms")}</h2>
        {frame.rooms.length === 0 && <p class="soft">{say("no_rooms")} <code>jari room create --help</code></p>}
        <ul class="cards">
          {frame.rooms.map((room) => <RoomCard key={room.room} room={room} frame={frame} />)}
        </ul>
      </section>
      {frame.groups.length > 0 && (
        <section aria-labelledby="groups-title">
          <h2 id="groups-title">{say("groups")}</h2>
          <ul class="cards">
            {frame.groups.map((group) => (
              <GroupCard key={group.group} group={group} rooms={frame.rooms.filter((room) => room.group === group.group)} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
