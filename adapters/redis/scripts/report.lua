-- report: what the room tells its limit group before a tick.
return answer(report())
