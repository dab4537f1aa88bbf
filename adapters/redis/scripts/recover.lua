-- recover: begins a new incarnation where history was lost. ARGV[5]: 'seen' or 'declared'; ARGV[6] to ARGV[9]: what the
-- caller has seen, incarnation, event, next number and origin ('' for unknown); ARGV[10]: settings, should nothing be left;
-- ARGV[11]: the node that calls.
local declared = ARGV[5] == 'declared'
local past = { incarnation = tonumber(ARGV[6]), event_no = tonumber(ARGV[7]), next_seq = tonumber(ARGV[8]),
  origin = tonumber(ARGV[9]) }

-- The origin as the event says it: a long line of recoveries may forget it at once.
local raw_origin

local function is_behind()
  if declared then return not is_recovering() end
  if room.incarnation ~= past.incarnation then return room.incarnation < past.incarnation end
  return room.event_no < past.event_no or room.next_seq < past.next_seq
end

-- The new incarnation, from what is left or from nothing. Its event is the first one of its stream.
local function begin(incarnation, now, top, origin, begins_before, awaited, left)
  put('incarnation', incarnation)
  put('event_no', 0)
  put('next_seq', above_all(top))
  -- What the lost history let in is not known yet: nothing is saved up for the window's end but what it fills.
  put('bucket', 0)
  put('now', now)
  put('lull_until', now + RECOVERY_WINDOW)
  put('was_idle', '')
  put('origin', origin or '')
  begin_lineage(begins_before, incarnation, room.next_seq)
  put('recovering', '1')
  put('rec_began', now)
  put('rec_top', math.max(top, room.rec_top or 0))
  put('rec_awaited', awaited or '-')
  put('ev_from', 1)
  put('ev_bytes', 0)
  settle_here()
  for _, name in ipairs({ 'asked_at', 'asked_from', 'asked_agree' }) do put(name, '') end
  -- Tokens of before are refused for their incarnation.
  redis.call('UNLINK', EV, LANDED)
  record('recovering', { 'now', text(now), 'until', text(room.lull_until), 'after_in', left and left.incarnation or '',
    'after_no', left and left.event_no or '', 'settings', left and '' or ARGV[10], 'origin', raw_origin or '',
    'top', text(top), 'next_seq', text(room.next_seq), 'awaited', awaited or '-' })
  due_news = function() return '0' end
  return answer({ 'began' })
end

-- Nothing is left that counts, but for the lists by name where only the room's own keys went.
local function begin_from_nothing(now, above)
  clear_leftovers()
  begin_fresh(0, now, settings_in(ARGV[10]))
  -- Of what was taken away only the lists by name are still missed: all else is told anew.
  if (raw.taken or '') ~= '' then
    local words = {}
    for _, name in ipairs({ 'block', 'allow' }) do
      if taken[name] then words[#words + 1] = name .. ':' .. taken[name] end
    end
    put('taken', table.concat(words, ' '))
  end
  for _, name in ipairs({ 'rec_told_in', 'rec_told_no', 'rec_told_at', 'rec_top' }) do put(name, 0) end
  for _, name in ipairs({ 'rec_oldest', 'rec_operated', 'rec_heard_from', 'rec_heard_to' }) do put(name, '') end
  local incarnation = math.max(now, math.max(above, past.incarnation) + 1)
  raw_origin = ARGV[9]
  return begin(incarnation, now, math.max(past.next_seq, 1), past.origin, '', nil, nil)
end

-- Nodes that attended within a minute before `at`, in order.
local function fresh_nodes(at)
  local flat, fresh = redis.call('HGETALL', NODES), {}
  for i = 1, #flat, 2 do
    if at - tonumber(flat[i + 1]) <= NODE_FRESH then fresh[#fresh + 1] = flat[i] end
  end
  table.sort(fresh, function(one, other)
    if #one ~= #other then return #one < #other end
    return one < other
  end)
  return fresh
end

-- Until when the room was served. It was at its last tick, unless nobody was in it: such a room is ticked no more.
local function served_until()
  return is_peopled() and room.now or math.max(room.now, wall_ms())
end

-- A copy that perhaps lacks nothing, and a caller who misses nothing. Whoever served the room is asked: once each of them
-- has called and missed nothing, the room is at home here. Time is left for those who came in the very moments that may
-- be lost. nil where somebody is silent for too long: then what that one knows is unknown, and the room recovers.
local function asked_all()
  local wall = wall_ms()
  if raw.asked_at ~= here or wall < room.asked_from then
    put('asked_at', here)
    put('asked_from', wall)
    put('asked_agree', '')
  end
  local agree = { [ARGV[11]] = true }
  for node in string.gmatch(raw.asked_agree, '%d+') do agree[node] = true end
  local is_silent, names = false, {}
  for _, node in ipairs(fresh_nodes(served_until())) do
    if agree[node] then names[#names + 1] = node else is_silent = true end
  end
  put('asked_agree', table.concat(names, ','))
  local waited = wall - room.asked_from
  local is_known = not is_silent and waited >= RECOVERY_MIN
  if is_known then
    settle_here()
    for _, name in ipairs({ 'asked_at', 'asked_from', 'asked_agree' }) do put(name, '') end
  elseif waited >= ASKING_MAX then
    return nil
  end
  store()
  if not is_known then return 'asking' end
  return is_recovering() and 'under_way' or 'nothing_lost'
end

-- Any number may come back: the bitmaps count from place 0 until the window's end.
local function unbase()
  if room.base > 0 then
    local zeros = string.rep('\0', room.base / 8)
    for _, key in ipairs({ W, CUR, PREV, ONCE }) do
      redis.call('SET', key, zeros .. slice(key, 0, room.len))
    end
    local twice = {}
    for _, seq in ipairs(inside_within(1, room.base - 1)) do
      if passes_of({ seq })[1].grant == 2 then twice[#twice + 1] = seq end
    end
    put('len', room.len + room.base / 8)
    put('base', 0)
    assign(ONCE, twice, 1)
  end
  -- Nobody is present until heard from again.
  for _, key in ipairs({ CUR, PREV }) do
    redis.call('DEL', key)
    if room.len > 0 then redis.call('SETRANGE', key, room.len - 1, '\0') end
  end
end

-- What the store itself still knows is the first telling; numbers that a recovery cut short was not told of are unknown.
local function tell_own()
  if is_recovering() then return end
  redis.call('UNLINK', KNOWN, SHOWN, HELD, RECEIPTS)
  if room.next_seq > 1 then
    redis.call('SET', KNOWN, string.rep('\255', math.floor(room.next_seq / 8)))
    redis.call('SETBIT', KNOWN, 0, 0)
    local rest = {}
    for seq = math.max(room.next_seq - room.next_seq % 8, 1), room.next_seq - 1 do rest[#rest + 1] = seq end
    assign_to(KNOWN, rest, 1)
  end
  put('rec_told_in', room.incarnation)
  put('rec_told_no', room.event_no)
  put('rec_told_at', room.now)
  put('rec_top', 0)
  for _, name in ipairs({ 'rec_oldest', 'rec_operated', 'rec_heard_from', 'rec_heard_to' }) do put(name, '') end
end

if not raw.incarnation then
  local now = wall_ms()
  begin_clock(now)
  return begin_from_nothing(now, room.buried or 0)
end
if room.format > FORMAT then return { 'newer', room.format, FORMAT } end
local is_copy = false
if not is_behind() then
  local history = whose_history()
  if history == 'same' then return answer({ is_recovering() and 'under_way' or 'nothing_lost' }) end
  is_copy = true
  local outcome = history == 'other' and not declared and asked_all()
  if outcome then return answer({ outcome }) end
end
local now = store_time()
if not declared and past.origin and past.origin > room.incarnation then
  -- The caller's room is a later one of this name: these lists are not its own.
  redis.call('UNLINK', BLOCK, ALLOW)
  taken.block, taken.allow = nil, nil
  return begin_from_nothing(now, room.incarnation)
end
if declared then past = { incarnation = 0, event_no = 0, next_seq = 0 } end
if evicted.is_torn() then
  -- What is left of it would tell that those have ended who are missing in it.
  past.next_seq = math.max(past.next_seq, room.next_seq)
  return begin_from_nothing(now, room.incarnation)
end
local origin = room.origin
if not is_recovering() then origin = room.origin or room.incarnation end
local left = { incarnation = raw.incarnation, event_no = raw.event_no }
local top = math.max(room.next_seq, past.next_seq)
-- Where nobody knows who was there, the window runs its whole time; but not for somebody who comes to an empty room.
local awaited
if not declared then
  local fresh = fresh_nodes(is_copy and served_until() or room.now)
  if #fresh > 0 or (is_copy and not is_peopled()) then awaited = table.concat(fresh, ',') end
end
local incarnation = math.max(now, math.max(room.incarnation, past.incarnation) + 1)
unbase()
tell_own()
raw_origin = origin and text(origin) or ''
return begin(incarnation, math.max(now, room.now), top, origin, raw.begins, awaited, left)
