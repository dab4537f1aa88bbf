-- create: makes the room unless it exists. A deleted room left its last incarnation behind: the new one is above it.
-- ARGV: now, mark, settings.
if raw.incarnation then
  if room.format > FORMAT then return { 'newer', room.format, FORMAT } end
  return answer(0)
end
local settings = settings_in(ARGV[5])
local now = wall_ms()
put('incarnation', math.max(now, (room.buried or 0) + 1))
put('buried', '')
put('format', FORMAT)
put('now', now)
put('clock_wall', now)
put('next_seq', 1)
put('ev_from', 1)
put('was_idle', '1')
put('bucket', tonumber(settings.burst) * TOKEN)
put('pacer_rate', start_rate(settings))
for _, name in ipairs({ 'event_no', 'base', 'len', 'waiting', 'serving', 'served', 'line_ms', 'silence_ms', 'lull_until',
  'window_start', 'mass_guard_until', 'pacer_due', 'sweep_cursor', 'grant_no', 'live_quota', 'clock_offset',
  'clock_credit', 'ev_bytes', 'clear_cursor', 't_joined', 't_admitted', 't_claimed', 't_no_shows', 't_absent',
  't_returned', 't_absence_ended', 't_left', 't_dwells', 't_dwell_ms', 't_stays', 't_stay_ms', 't_mass_absences' }) do
  put(name, 0)
end
for _, name in ipairs({ 'paused', 'closed', 'reopens_at', 'close_message', 'opened_at', 'sold_out', 'notice',
  'notice_at' }) do
  put(name, '')
end
store_settings(settings)
record('created', { 'now', text(now), 'settings', ARGV[5] })
return answer(1)
