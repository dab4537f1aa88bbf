// The page's own arithmetic, without a browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { backoff } from "../../web/room/call.js";
import { behind, estimateOf, modeOf, progress, remember, shownPosition } from "../../web/room/line.js";
import { parseEvent } from "../../web/room/stream.js";

const line = (served, waiting = 500) => ({ state: "open", served, waiting });
const view = (position, served, seq = 9) => ({ status: "waiting", seq, position, behind: 3, line: line(served) });

test("positions count down by what was served since, never below 1, never up", () => {
  assert.equal(shownPosition(view(100, 50), line(60)), 90);
  assert.equal(shownPosition(view(100, 50), line(500)), 1);
  assert.equal(shownPosition(view(100, 50), line(40)), 100, "an older line changes nothing");
  assert.equal(shownPosition(view(100, 50), line(50), { seq: 9, shown: 80 }), 80);
  assert.equal(shownPosition(view(100, 50), line(50), { seq: 8, shown: 80 }), 100, "another place");
  assert.equal(shownPosition({ ...view(100, 50), status: "next" }, line(50)), undefined);
});

test("progress runs from the first position shown for the place", () => {
  let memory = remember(view(101, 0), 101);
  assert.equal(progress(memory), 0);
  memory = remember(view(51, 50), 51, memory);
  assert.equal(progress(memory), 50);
  memory = remember(view(1, 100), 1, memory);
  assert.equal(progress(memory), 100);
  assert.equal(remember(view(70, 0, 10), 70, memory).start, 70);
});

test("who is behind follows the line between views", () => {
  const now = view(100, 50);
  assert.equal(behind(now, now.line, 100), 3);
  assert.equal(behind(now, line(60, 400), 90), 310);
});

test("an estimate is as old as the view: a line in another state has none", () => {
  const paused = { ...view(5, 0), no_estimate: "paused", line: { ...line(0), state: "paused" } };
  assert.equal(estimateOf(paused, { ...line(3), state: "paused" }).no_estimate, "paused");
  assert.equal(estimateOf(paused, line(3)).no_estimate, "unknown", "it goes on again");
  const known = { ...view(5, 0), estimate: { low_ms: 1, high_ms: 2 } };
  assert.deepEqual(estimateOf(known, line(3)).estimate, known.estimate);
  assert.deepEqual(estimateOf(known, paused.line), { no_estimate: "paused" });
});

test("what the page shows", () => {
  const waiting = view(5, 0);
  const closed = { ...line(0), state: "closed" };
  for (const [state, mode] of [
    [{}, "connecting"],
    [{ problem: { code: "network" } }, "offline"],
    [{ problem: { code: "overloaded" } }, "busy"],
    [{ problem: { code: "room_sold_out" } }, "sold_out"],
    [{ problem: { code: "challenge_required", percent: 40 } }, "checking"],
    [{ problem: { code: "too_many_newcomers" } }, "busy"],
    [{ problem: { code: "recovering" } }, "recovering"],
    [{ view: waiting, line: line(0), problem: { code: "recovering" } }, "recovering"],
    [{ view: waiting, line: { ...line(0), state: "recovering" } }, "recovering"],
    [{ view: waiting, line: waiting.line }, "waiting"],
    [{ view: waiting, line: waiting.line, problem: { code: "network" } }, "waiting"],
    [{ view: waiting, line: closed }, "closed_kept"],
    [{ view: { status: "ended", left: true } }, "left"],
    [{ view: { status: "admitted", pass: { claimed: false } } }, "admitted"],
    [{ view: { status: "admitted", pass: { claimed: true } } }, "inside"],
    [{ view: { ...waiting, status: "absent" }, line: closed }, "absent"],
    [{ view: { ...waiting, go_to: "/tickets" }, line: waiting.line }, "off"],
    [{ problem: { code: "not_needed", target_url: "/tickets" } }, "off"],
    [{ view: waiting, line: { ...line(0), state: "off" } }, "paused"],
  ]) {
    assert.equal(modeOf(state), mode, JSON.stringify(state));
  }
});

test("estimates name a unit once where one does", async () => {
  globalThis.TEXTS = JSON.parse(await readFile(new URL("../../web/room/messages.ko.json", import.meta.url), "utf8"));
  const { estimateText } = await import("../../web/room/texts.js");
  const minutes = (low, high) => estimateText({ low_ms: low * 60000, high_ms: high * 60000 });
  assert.equal(minutes(0, 1), "1분 이내");
  assert.equal(minutes(0, 3), "3분 이내");
  assert.equal(minutes(3, 5), "약 3~5분");
  assert.equal(minutes(120, 180), "약 2~3시간");
  assert.equal(minutes(118, 200), "약 2시간~3시간 20분");
  assert.equal(minutes(50, 70), "약 50분~1시간 10분");
  assert.equal(minutes(120, 121), "약 2시간");
});

test("pauses double, are spread, and end at 30 s", () => {
  assert.deepEqual([0, 1, 2].map((n) => backoff(n, () => 1)), [1000, 2000, 4000]);
  assert.equal(backoff(0, () => 0), 500);
  assert.equal(backoff(1000, () => 1), 30000);
});

test("events are read as the standard says", () => {
  assert.deepEqual(parseEvent('id: 7\nevent: line\ndata: {"a":1}'), { event: "line", data: '{"a":1}' });
  assert.deepEqual(parseEvent("data:a\r\ndata: b"), { event: "message", data: "a\nb" });
  assert.deepEqual(parseEvent(": still here"), { event: "message", data: "" });
});
