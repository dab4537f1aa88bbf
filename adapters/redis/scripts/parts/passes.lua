-- Live passes. PASS holds "grant granted_at claimed_at paying_since deadline" by place, '-' for never; UN and CL hold the
-- unclaimed and the claimed ones by deadline. Equal scores are sorted as text: hence the zeros. LANDED holds the newest
-- redeemed token of each, "incarnation grant no nonce": one of another incarnation or grant is another pass's, and none.

local function member(seq)
  return string.format('%016.0f', seq)
end

local function parsed(seq, record)
  local grant, granted_at, claimed_at, paying_since, deadline =
    string.match(record, '^(%d) (%d+) (%S+) (%S+) (%d+)$')
  return {
    seq = seq,
    grant = tonumber(grant),
    granted_at = tonumber(granted_at),
    claimed_at = tonumber(claimed_at),
    paying_since = tonumber(paying_since),
    deadline = tonumber(deadline),
  }
end

-- The live pass of each place, or false.
local function passes_of(seqs)
  local found = {}
  if #seqs == 0 then return found end
  local fields = {}
  for i, seq in ipairs(seqs) do fields[i] = text(seq) end
  for i, record in ipairs(redis.call('HMGET', PASS, unpack(fields))) do
    found[i] = record and parsed(seqs[i], record)
  end
  return found
end

local function live()
  return redis.call('HLEN', PASS)
end

local function or_never(value)
  return value and text(value) or '-'
end

-- Writes new or changed passes. A claimed one is in CL, whatever it was before.
local function write_passes(passes)
  if #passes == 0 then return end
  local fields, unclaimed, claimed, gone = {}, {}, {}, {}
  for _, pass in ipairs(passes) do
    fields[#fields + 1] = text(pass.seq)
    fields[#fields + 1] = table.concat({ pass.grant, text(pass.granted_at), or_never(pass.claimed_at),
      or_never(pass.paying_since), text(pass.deadline) }, ' ')
    local due = pass.claimed_at and claimed or unclaimed
    due[#due + 1] = text(pass.deadline)
    due[#due + 1] = member(pass.seq)
    if pass.claimed_at then gone[#gone + 1] = member(pass.seq) end
  end
  redis.call('HSET', PASS, unpack(fields))
  if #unclaimed > 0 then redis.call('ZADD', UN, unpack(unclaimed)) end
  if #claimed > 0 then
    redis.call('ZADD', CL, unpack(claimed))
    redis.call('ZREM', UN, unpack(gone))
  end
end

-- Takes passes out and counts their ends.
local function end_passes(passes)
  if #passes == 0 then return end
  local fields, members = {}, {}
  local stay_ms, dwells, dwell_ms = 0, 0, 0
  for i, pass in ipairs(passes) do
    fields[i], members[i] = text(pass.seq), member(pass.seq)
    -- A pass that a replica told of may have been granted by a clock ahead of this one.
    stay_ms = stay_ms + math.max(room.silence_ms - pass.granted_at, 0)
    if pass.claimed_at then
      dwells = dwells + 1
      dwell_ms = dwell_ms + math.max(room.silence_ms - pass.claimed_at, 0)
    end
  end
  redis.call('HDEL', PASS, unpack(fields))
  redis.call('HDEL', LANDED, unpack(fields))
  redis.call('ZREM', UN, unpack(members))
  redis.call('ZREM', CL, unpack(members))
  add('t_stays', #passes)
  add('t_stay_ms', stay_ms)
  add('t_dwells', dwells)
  add('t_dwell_ms', dwell_ms)
  add('t_no_shows', #passes - dwells)
end

local function claim_deadline()
  return room.silence_ms + room.set_claim_window
end

-- Turns places into passes: the one way a pass comes to be.
local function grant(seqs, deadline)
  if #seqs == 0 then return end
  local waits, once = bits(W, seqs), bits(ONCE, seqs)
  local passes = {}
  local waited, returned, admitted = 0, 0, 0
  for i, seq in ipairs(seqs) do
    if waits[i] == 1 then
      waited = waited + 1
      -- Passed over, and not called since: a second chance is no return.
      if seq <= room.serving and once[i] == 0 then returned = returned + 1 end
    end
    if once[i] == 0 then admitted = admitted + 1 end
    passes[i] = { seq = seq, grant = once[i] + 1, granted_at = room.silence_ms, deadline = deadline }
  end
  for _, key in ipairs({ W, CUR, PREV }) do assign(key, seqs, 0) end
  write_passes(passes)
  add('waiting', -waited)
  add('t_returned', returned)
  add('t_admitted', admitted)
end

-- A pass as told to its owner: place, grant, how long it is still good for, claimed.
local function told(pass)
  local remaining = math.max(pass.deadline - room.silence_ms, 0)
  -- In use while the room recovers: it runs on from the window's end.
  if is_recovering() and redis.call('GETBIT', SHOWN, text(pass.seq)) == 1 then
    remaining = math.max(remaining, room.set_pass_ttl)
  end
  return pass.seq, pass.grant, remaining, pass.claimed_at and 1 or 0
end
