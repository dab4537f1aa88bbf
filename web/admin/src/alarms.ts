// What an operator should know at once, out of a frame. Decides no action.
import { perSecond } from "./feed";
import { count, rate, say, span, titleOf } from "./text";
import type { LiveFrame, RoomLive } from "./wire";

export type Grave = "bad" | "warn" | "info";

export interface Alarm {
  id: string;
  grave: Grave;
  room?: string;
  text: string;
}

// A mass absence is shown for so long: its cause may be over, and somebody should still look.
const MASS_ABSENCE_SHOWN_MS = 10 * 60_000;
// Lost blocks and allowances are shown until as many people were named again, and for a day where nobody does.
const UNLISTED_SHOWN_MS = 24 * 60 * 60_000;
// A room with people in it ticks every second; beyond this something holds it up.
const TICK_LATE_MS = 6_000;
// Fewer refusals a second are the ordinary course.
const REFUSED_MANY = 1;
// The line is nearly full from here on.
const NEARLY_FULL = 0.9;
// Somebody has always just left: a room is full inside from here on.
const FULL = 0.97;

function ofRoom(room: RoomLive, now: number): Alarm[] {
  const alarms: Alarm[] = [];
  const name = titleOf(room.title, room.room);
  const add = (what: string, grave: Grave, text: string) =>
    alarms.push({ id: `${room.room}:${what}`, grave, room: room.room, text });
  if (!room.following) add("following", "bad", say("alarm.following", { name }));
  const busy = room.waiting > 0 || room.live > 0;
  if (busy && now - Date.parse(room.now) > TICK_LATE_MS) add("tick", "bad", say("alarm.tick", { name }));
  if (room.mass_absence_at && now - Date.parse(room.mass_absence_at) < MASS_ABSENCE_SHOWN_MS) {
    add("absence", "bad", say("alarm.absence", { name, ago: span(now - Date.parse(room.mass_absence_at)) }));
  }
  if (room.unlisted && now - Date.parse(room.unlisted.at) < UNLISTED_SHOWN_MS) {
    const ago = span(Math.max(now - Date.parse(room.unlisted.at), 0));
    add("unlisted", "bad", say("alarm.unlisted", { name, n: count(room.unlisted.people), ago }));
  }
  if (room.lull) add("lull", "warn", say("alarm.lull", { name }));
  const refused = perSecond(room.room, "refused");
  if (refused >= REFUSED_MANY) add("refused", "warn", say("alarm.refused", { name, n: rate(refused) }));
  if (room.waiting >= room.max_waiting * NEARLY_FULL) {
    add("full", "bad", say("alarm.line_full", { name, n: count(room.waiting), max: count(room.max_waiting) }));
  }
  if (room.state !== "open" || room.waiting === 0) return alarms;
  if (room.rate_per_s === 0 && room.pacer !== "manual") {
    add("brake", "warn", say("alarm.brake", { name }));
  } else if (room.capacity === 0) {
    add("shut", "warn", say("alarm.shut", { name }));
  } else if (room.live >= room.capacity * FULL) {
    add("inside", "info", say("alarm.inside_full", { name, n: count(room.live), max: count(room.capacity) }));
  }
  return alarms;
}

const ORDER: Grave[] = ["bad", "warn", "info"];

// The gravest first, then always in the same order.
export const inOrder = (alarms: Alarm[]): Alarm[] =>
  alarms.sort((a, b) => ORDER.indexOf(a.grave) - ORDER.indexOf(b.grave) || a.id.localeCompare(b.id));

export function alarmsOf(frame: LiveFrame): Alarm[] {
  const now = Date.parse(frame.at);
  const alarms = frame.rooms.flatMap((room) => ofRoom(room, now));
  if (frame.store_down_ms !== undefined) {
    alarms.push({ id: "store", grave: "bad", text: say("alarm.store", { for: span(frame.store_down_ms) }) });
  }
  for (const group of frame.groups) {
    if (group.capacity > 0 && group.waiting > 0 && group.live >= group.capacity * FULL) {
      const text = say("alarm.group_full", { name: group.group, n: count(group.live), max: count(group.capacity) });
      alarms.push({ id: `group:${group.group}`, grave: "info", text });
    }
  }
  return alarms;
}
