-- admit: the tick. Moves the clocks, ends what is due, fills the bucket and calls the next places.
-- ARGV[5]: 'ask' (a grouped room answers with its report and waits for a grant), 'alone', or 'grant' with its number,
-- tokens and live quota in ARGV[6] to ARGV[8].

if evicted.is_torn() then
  -- As where the whole room is gone: nodes that find it missing bring everybody back.
  redis.call('UNLINK', S)
  return { 'unknown' }
end

if ARGV[5] == 'ask' and raw.set_grouped == '1' then
  local group = redis.call('GET', GROUP)
  if group then return answer({ 'ask', group }) end
end

-- A late tick starts a lull: nobody is punished for a time when Jari could not hear them.
local function move_clocks()
  local before = room.now
  local now = math.max(store_time(), before)
  local since = now - before
  local late, idle = since > TICK_LATE, raw.was_idle == '1'
  local began = false
  if late and idle then
    -- Nobody was here to be heard: the line's clock goes on, nobody's silence does.
    add('line_ms', since)
  elseif late and is_recovering() then
    -- Nobody could tell anything meanwhile: the window is as long as ever.
    began = true
    put('lull_until', room.lull_until + since)
  elseif late then
    local lull_until = now + room.set_presence_window
    began = lull_until > room.lull_until
    put('lull_until', lull_until)
  else
    add('line_ms', since)
    if not is_recovering() then add('silence_ms', math.max(now - math.max(room.lull_until, before), 0)) end
  end
  put('now', now)
  if evicted.was_deaf() and not is_recovering() then
    began = true
    put('lull_until', math.max(room.lull_until, now + room.set_presence_window))
    put('deaf_until', room.lull_until)
  end
  local turned = room.silence_ms - room.window_start >= room.set_presence_window
  if turned then
    put('window_start', room.silence_ms)
    if room.len > 0 then
      redis.call('RENAME', CUR, PREV)
      redis.call('SETRANGE', CUR, room.len - 1, '\0')
    end
  end
  return began, turned
end

local function due(key)
  local seqs = {}
  for i, name in ipairs(redis.call('ZRANGE', key, '-inf', text(room.silence_ms), 'BYSCORE', 'LIMIT', 0, EXPIRE_MAX)) do
    seqs[i] = tonumber(name)
  end
  return seqs
end

-- Unclaimed passes with a second chance left put their places back as absent; all others that are due end for good.
local function expire()
  if is_recovering() then return {}, {} end
  local unclaimed, expired = due(UN), due(CL)
  local once, again = bits(ONCE, unclaimed), {}
  for i, seq in ipairs(unclaimed) do
    local ends = once[i] == 1 and expired or again
    ends[#ends + 1] = seq
  end
  end_passes(passes_of(expired))
  end_passes(passes_of(again))
  detach(expired)
  assign(ONCE, expired, 0)
  assign(ONCE, again, 1)
  assign(W, again, 1)
  add('waiting', #again)
  return expired, again
end

-- The rate after `rate`, as the worst that is said of the site wants it.
local function by_signal(rate)
  local worst, start, increase = flow.worst(), room.set_signal_start, room.set_signal_increase
  local after
  if worst == 2 then
    after = math.max(math.floor(rate / 2), room.set_signal_floor)
  elseif worst == 1 then
    after = rate
  elseif worst == 0 then
    after = rate + increase
  elseif rate > start then
    -- Nobody says anything: what was learned is forgotten step by step.
    after = math.max(rate - increase, start)
  else
    after = math.min(rate + increase, start)
  end
  return math.min(math.max(after, room.set_signal_floor), room.set_signal_ceiling)
end

local function pace(inside)
  local kind = raw.set_pacer
  if kind ~= 'aimd' and kind ~= 'signal' then
    put('pacer_rate', kind == 'fixed' and room.set_rate_milli or 0)
  elseif room.line_ms >= room.pacer_due then
    -- Steps stay on a grid of ticks, so that jitter does not skip one; time that was missed is not made up.
    local grid = room.pacer_due + TICK
    local rate = math.floor(room.pacer_rate / 1000)
    local due = grid <= room.line_ms and room.line_ms + TICK or grid
    if kind == 'signal' then
      local next_rate = by_signal(rate)
      if flow.worst() == 2 and next_rate < rate then due = room.line_ms + room.set_signal_settle end
      rate = next_rate
    elseif inside >= room.set_aimd_threshold then
      rate = math.max(math.floor(rate / 2), room.set_aimd_floor)
    else
      rate = math.min(rate + room.set_aimd_increase, room.set_aimd_ceiling)
    end
    put('pacer_rate', rate * 1000)
    put('pacer_due', due)
  end
end

-- The group's grant if it is one that no tick has used.
local function fresh_grant()
  if ARGV[5] ~= 'grant' or tonumber(ARGV[6]) <= room.grant_no then return nil end
  put('grant_no', tonumber(ARGV[6]))
  put('live_quota', tonumber(ARGV[8]))
  return { tokens = tonumber(ARGV[7]), live_quota = tonumber(ARGV[8]) }
end

local function free_places(inside, fresh)
  -- A rate of nothing means nobody, whatever the bucket holds from before.
  -- So while the room recovers: who is next, and how many are inside, is still being told.
  if is_recovering() or room.pacer_rate == 0 or phase_at(room.now).kind ~= 'open' then return 0 end
  local free = math.min(room_for_more(inside), math.floor(room.bucket / TOKEN), room.set_per_tick)
  if raw.set_grouped ~= '1' then return free end
  if not fresh then return 0 end
  return math.min(free, fresh.tokens, math.max(fresh.live_quota - inside, 0))
end

-- The slice of absences to look at: the newest mark older than the grace bounds it. Nil where there is none.
local function slice_to_sweep()
  local old = redis.call('ZRANGE', MARKS, text(room.silence_ms - room.set_absence_grace), '-inf', 'BYSCORE', 'REV',
    'LIMIT', 0, 1)
  local limit = old[1] and tonumber(old[1])
  local lowest = limit and next_in(W, 1, limit)
  if not lowest then return nil end
  local start = room.sweep_cursor > limit and lowest or math.max(room.sweep_cursor, lowest)
  return { start = start, stop = math.min(start + SWEEP_SLICE, limit + 1) }
end

-- Absences whose grace ran out end: the unseen of the slice, as a set for the event. After the calls, which cleared theirs.
local function sweep(slice)
  -- Nor while those are heard again whose word was lost.
  if is_recovering() or room.now < (room.deaf_until or 0) then return '' end
  put('sweep_cursor', slice and slice.stop or 0)
  if not slice then return '' end
  local from = math.floor((slice.start - room.base) / 8)
  local to = math.floor((slice.stop - 1 - room.base) / 8)
  local function part(key) return redis.call('GETRANGE', key, from, to) end
  redis.call('SET', T, part(CUR))
  redis.call('SET', T2, part(PREV))
  redis.call('BITOP', 'OR', T, T, T2)
  redis.call('SET', T2, part(W))
  -- Present places are all in W, so XOR leaves those that are not present.
  redis.call('BITOP', 'XOR', T, T, T2)
  -- Whole bytes were read: places of the first and the last one outside the slice are none of it.
  local head, tail = (slice.start - room.base) % 8, (slice.stop - room.base) % 8
  if head > 0 then redis.call('BITFIELD', T, 'SET', 'u' .. head, 0, 0) end
  if tail > 0 then redis.call('BITFIELD', T, 'SET', 'u' .. (8 - tail), (to - from) * 8 + tail, 0) end
  local count = redis.call('BITCOUNT', T)
  if count == 0 then return '' end
  redis.call('BITOP', 'XOR', T2, T2, T)
  redis.call('SETRANGE', W, from, redis.call('GET', T2))
  redis.call('SET', T2, part(ONCE))
  -- ONCE without the swept: XOR of what both hold.
  local swept = redis.call('GET', T)
  redis.call('BITOP', 'AND', T, T, T2)
  redis.call('BITOP', 'XOR', T2, T2, T)
  redis.call('SETRANGE', ONCE, from, redis.call('GET', T2))
  if redis.call('EXISTS', FREE) == 1 then take_out(FREE, room.base / 8 + from, swept) end
  add('waiting', -count)
  add('t_absence_ended', count)
  return bitmap(room.base + from * 8, swept)
end

-- Of the marks older than the grace only the newest says anything.
local function forget_marks()
  local old = redis.call('ZCOUNT', MARKS, '-inf', text(room.silence_ms - room.set_absence_grace))
  if old > 1 then redis.call('ZREMRANGEBYRANK', MARKS, 0, old - 2) end
end

-- Takes ended places out of a share of the index, once it holds more of them than live ones: each of those has one entry.
-- Nobody can tell: an ended place and an unknown one are one answer.
local function clear_index()
  local here = room.waiting + live()
  if redis.call('HLEN', SUBJ) - here <= math.max(here, CLEAR_MIN) then return end
  local cursor, flat = unpack(redis.call('HSCAN', SUBJ, raw.clear_cursor, 'COUNT', CLEAR_SHARE))
  put('clear_cursor', cursor)
  local seqs = {}
  for i = 2, #flat, 2 do seqs[#seqs + 1] = tonumber(flat[i]) end
  if #seqs == 0 then return end
  local waits, passes, gone = bits(W, seqs), nil, {}
  local ended, at = {}, {}
  for i, seq in ipairs(seqs) do
    if waits[i] == 0 then
      ended[#ended + 1] = seq
      at[#at + 1] = i
    end
  end
  passes = passes_of(ended)
  for n, i in ipairs(at) do
    if not passes[n] then gone[#gone + 1] = flat[i * 2 - 1] end
  end
  if #gone > 0 then redis.call('HDEL', SUBJ, unpack(gone)) end
end

-- Where the lowest bits of all bitmaps are clear for good, they are cut off. A live pass keeps its place below the new
-- base only if it is claimed: an unclaimed one may put its place back.
local function rebase()
  -- While the room recovers, any number may come back.
  if is_recovering() then return end
  if room.serving < room.base + REBASE_BITS or math.floor(room.line_ms / TICK) % REBASE_TICKS ~= 0 then return end
  if redis.call('ZCARD', UN) > REBASE_UNCLAIMED_MAX then return end
  local lowest = math.min(room.serving, next_in(W, 1, room.next_seq) or room.serving)
  for _, name in ipairs(redis.call('ZRANGE', UN, 0, -1)) do lowest = math.min(lowest, tonumber(name)) end
  local cut = math.floor((lowest - room.base) / REBASE_BITS) * REBASE_BITS / 8
  if cut <= 0 or cut >= room.len then return end
  for _, key in ipairs({ W, CUR, PREV, ONCE }) do
    redis.call('SET', key, redis.call('GETRANGE', key, cut, -1))
  end
  put('base', room.base + cut * 8)
  put('len', room.len - cut)
end

local line_before = room.line_ms
local unlisted = evicted.unlisted()
evicted.mend_empty()
local lull_began, turned = move_clocks()
evicted.mend_marks()
evicted.refuse_tokens()
local expired, again = expire()
local inside = live()
pace(inside)
put('bucket', math.min(room.bucket + room.pacer_rate * (room.line_ms - line_before), room.set_burst * TOKEN))
local fresh = fresh_grant()
local in_lull = room.now < room.lull_until
local calls = turn(free_places(inside, fresh), in_lull)
local to_sweep = slice_to_sweep()
local mass_absence = not in_lull and room.silence_ms >= room.mass_guard_until and is_mass_absence(calls)
local call_fields, count = {}, 0
if mass_absence then
  lull_began = true
  put('lull_until', room.now + room.set_presence_window)
  put('mass_guard_until', room.silence_ms + room.set_presence_window)
  add('t_mass_absences', 1)
elseif called(calls) > 0 or calls.serving ~= room.serving then
  count = called(calls)
  add('bucket', -count * TOKEN)
  call_fields = bring_in(calls)
end
local swept = sweep(to_sweep)
forget_marks()
clear_index()
local over = is_over()
local flow_fields = over and {} or flow.after_tick()
local settled = over and settle() or {}
rebase()
if redis.call('EXISTS', FREE) == 1 and redis.call('BITPOS', FREE, 1) < 0 then redis.call('UNLINK', FREE) end
redis.call('UNLINK', T, T2)
put('was_idle', room.waiting == 0 and live() == 0 and not is_recovering() and '1' or '')
local fields = { 'now', text(room.now), 'line_ms', text(room.line_ms), 'silence_ms', text(room.silence_ms),
  'lull_until', text(room.lull_until), 'window_turned', turned and '1' or '', 'bucket', text(room.bucket),
  'pacer_rate', text(room.pacer_rate), 'pacer_due', text(room.pacer_due), 'expired', ranges(expired),
  'second_chance', ranges(again), 'mass_absence', mass_absence and '1' or '', 'swept', swept,
  'sweep_cursor', text(room.sweep_cursor), 'grant_no', text(room.grant_no), 'live_quota', text(room.live_quota) }
for _, field in ipairs(call_fields) do fields[#fields + 1] = field end
local ended = #expired + #again
for _, field in ipairs(flow_fields) do fields[#fields + 1] = field end
for _, field in ipairs(settled) do fields[#fields + 1] = field end
if unlisted > 0 then
  fields[#fields + 1] = 'unlisted'
  fields[#fields + 1] = text(unlisted)
end
record(over and 'settled' or 'ticked', fields)
return answer({ 'done', count, ended, (lull_began or over) and 1 or 0, mass_absence and 1 or 0,
  unlisted, raw.set_grouped == '1' and redis.call('EXISTS', GROUP) == 0 and 1 or 0 })
