-- create: makes the room unless it exists. A deleted room left its last incarnation behind: the new one is above it.
-- ARGV: now, mark, settings.
if raw.incarnation then
  if room.format > FORMAT then return { 'newer', room.format, FORMAT } end
  return answer(0)
end
clear_leftovers()
local now = wall_ms()
begin_fresh(math.max(now, (room.buried or 0) + 1), now, settings_in(ARGV[5]))
begin_clock(now)
settle_here()
record('created', { 'now', text(now), 'settings', ARGV[5] })
due_news = next_tick
return answer(1)
