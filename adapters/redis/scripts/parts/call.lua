-- Whose turn it is: the returned first, then the present in order, and where the frontier stands afterwards.

-- Room that capacity and the quota leave beside `inside` live passes.
local function room_for_more(inside)
  local free = math.max(room.set_capacity - inside, 0)
  if room.set_admit_total then
    free = math.min(free, math.max(room.set_admit_total - room.t_admitted, 0))
  end
  return free
end

-- Up to `free` of the places of `key` in `from..=to`.
local function take(key, from, to, free, seqs)
  while free > 0 do
    local seq = next_in(key, from, to)
    if not seq then return free end
    seqs[#seqs + 1] = seq
    from, free = seq + 1, free - 1
  end
  return free
end

-- Whom a call of up to `free` places would bring in. Works in T and T2.
local function turn(free, in_lull)
  local serving, last = room.serving, room.next_seq - 1
  local calls = { returned = {}, ahead = {}, serving = serving, passed = 0, unseen = 0 }
  if free <= 0 then return calls end
  redis.call('BITOP', 'OR', T, CUR, PREV)
  local left = take(T, 1, serving, free, calls.returned)
  -- Called above the frontier before, in a lull or by name, and not come: they count as returned, not as in line.
  local again = next_in(ONCE, serving + 1, last)
  if again then
    redis.call('BITOP', 'AND', T2, T, ONCE)
    left = take(T2, serving + 1, last, left, calls.returned)
    redis.call('BITOP', 'XOR', T, T, T2)
    redis.call('BITOP', 'AND', T2, W, ONCE)
  end
  if left == 0 then return calls end
  if take(T, serving + 1, last, left, calls.ahead) == 0 then
    calls.serving = calls.ahead[#calls.ahead]
  else
    -- Everybody present was called: trailing ghosts leave the line.
    calls.serving = last
  end
  local function in_line() -- passed by the frontier
    local passed = count_in(W, serving + 1, calls.serving)
    return again and passed - count_in(T2, serving + 1, calls.serving) or passed
  end
  if in_lull then
    -- The frontier stops before the first unseen place: skipped, not passed. T and T2 are parts of W without a place
    -- in common, so XOR leaves the unseen.
    redis.call('BITOP', 'XOR', T, T, W)
    if again then redis.call('BITOP', 'XOR', T, T, T2) end
    local unseen = next_in(T, serving + 1, last)
    if unseen then calls.serving = math.min(calls.serving, unseen - 1) end
    calls.passed = in_line()
    return calls
  end
  calls.passed = in_line()
  calls.unseen = calls.passed - count_in(T, serving + 1, calls.serving)
  return calls
end

local function is_mass_absence(calls)
  return calls.passed >= MASS_ABSENCE_MIN and calls.unseen * 2 > calls.passed
end

local function called(calls)
  return #calls.returned + #calls.ahead
end

-- Brings in whom `turn` found: passes, the frontier and its mark. Returns the event's fields.
local function bring_in(calls)
  local seqs = {}
  local in_turn = 0
  for _, seq in ipairs(calls.returned) do seqs[#seqs + 1] = seq end
  for _, seq in ipairs(calls.ahead) do
    seqs[#seqs + 1] = seq
    if seq <= calls.serving then in_turn = in_turn + 1 end
  end
  local deadline = claim_deadline()
  add('t_absent', math.max(calls.passed - in_turn, 0))
  grant(seqs, deadline)
  if calls.serving ~= room.serving then
    redis.call('ZADD', MARKS, text(room.silence_ms), member(calls.serving))
    put('serving', calls.serving)
  end
  add('served', calls.passed)
  return { 'serving', text(calls.serving), 'served', text(room.served), 'seqs', ranges(seqs),
    'deadline', text(deadline) }
end
