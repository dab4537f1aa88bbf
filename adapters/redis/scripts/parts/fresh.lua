-- A room at its beginning: every scalar that is not zero or empty, then the others.

-- What is there of a room whose scalars are gone is of no use. The lists by name are: nobody else knows them.
local function clear_leftovers()
  redis.call('UNLINK', SUBJ, W, CUR, PREV, ONCE, PASS, UN, CL, MARKS, EV, T, T2, KNOWN, SHOWN, HELD, RECEIPTS, FREE, NODES,
    LANDED)
end

local function begin_fresh(incarnation, now, settings)
  put('incarnation', incarnation)
  put('buried', '')
  put('format', FORMAT)
  put('now', now)
  put('next_seq', 1)
  put('ev_from', 1)
  put('was_idle', '1')
  put('bucket', tonumber(settings.burst) * TOKEN)
  put('pacer_rate', start_rate(settings))
  for _, name in ipairs({ 'event_no', 'base', 'len', 'waiting', 'serving', 'served', 'line_ms', 'silence_ms',
    'lull_until', 'window_start', 'mass_guard_until', 'pacer_due', 'sweep_cursor', 'grant_no', 'live_quota', 'ev_bytes',
    'clear_cursor', 't_joined', 't_admitted', 't_claimed', 't_no_shows', 't_absent', 't_returned', 't_absence_ended',
    't_left', 't_dwells', 't_dwell_ms', 't_stays', 't_stay_ms', 't_mass_absences', 'auto_window', 'auto_joined', 'auto_busy' }) do
    put(name, 0)
  end
  for _, name in ipairs({ 'paused', 'closed', 'reopens_at', 'close_message', 'opened_at', 'sold_out', 'notice',
    'notice_at', 'origin', 'begins', 'recovering', 'auto_since', 'auto_why', 'words' }) do
    put(name, '')
  end
  store_settings(settings)
end

-- A clock that has been read for the first time.
local function begin_clock(now)
  put('clock_wall', now)
  put('clock_offset', 0)
  put('clock_credit', 0)
end
