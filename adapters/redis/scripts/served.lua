-- served: how many ms ago the room was last served, by its clock for ticks and by the server's for nodes that attended. Empty
-- where nobody was ever in it.
if not raw.incarnation then return { 'unknown' } end
if room.format > FORMAT then return { 'newer', room.format, FORMAT } end
local ago = ''
if room.next_seq > 1 or room.served_at or redis.call('EXISTS', NODES) == 1 then
  local wall = wall_ms()
  local since = math.min(wall + room.clock_offset - room.now, wall - (room.served_at or 0))
  ago = text(math.max(since, 0))
end
return { 'ok', room.incarnation, room.event_no, room.next_seq, ago }
