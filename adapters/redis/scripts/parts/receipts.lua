-- When a store had last confirmed the places whose receipts were shown: RECEIPTS holds them CHUNK at a time, six bytes a
-- place, the time and one (nothing is zero). A million are read at once as some thousand fields; a sorted set of them would
-- block the server for seconds.

local function chunk_of(seq)
  return math.floor(seq / CHUNK), seq % CHUNK
end

local function time_at(chunk, i)
  local a, b, c, d, e, f = string.byte(chunk, i * 6 + 1, i * 6 + 6)
  local stored = ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  return stored > 0 and stored - 1 or nil
end

local function with_time(chunk, i, at)
  local bytes, rest = {}, at + 1
  for n = 6, 1, -1 do
    bytes[n] = rest % 256
    rest = math.floor(rest / 256)
  end
  return string.sub(chunk, 1, i * 6) .. string.char(unpack(bytes)) .. string.sub(chunk, i * 6 + 7)
end

-- The chunks of the places, by number.
local function chunks_of(seqs)
  local names, chunks = {}, {}
  for _, seq in ipairs(seqs) do
    local number = chunk_of(seq)
    if not chunks[number] then
      chunks[number] = string.rep('\0', CHUNK * 6)
      names[#names + 1] = number
    end
  end
  if #names == 0 then return chunks end
  local fields = {}
  for i, number in ipairs(names) do fields[i] = text(number) end
  for i, chunk in ipairs(redis.call('HMGET', RECEIPTS, unpack(fields))) do
    if chunk then chunks[names[i]] = chunk end
  end
  return chunks
end

-- When each place was confirmed, nil where no receipt was shown.
local function confirmed_at(seqs)
  local chunks, times = chunks_of(seqs), {}
  for i, seq in ipairs(seqs) do
    local number, at = chunk_of(seq)
    times[i] = time_at(chunks[number], at)
  end
  return times
end

-- Writes newer times, by place.
local function confirm_at(seqs, times)
  if #seqs == 0 then return end
  local chunks, flat = chunks_of(seqs), {}
  for _, seq in ipairs(seqs) do
    local number, at = chunk_of(seq)
    chunks[number] = with_time(chunks[number], at, times[seq])
    put('rec_heard_from', math.min(room.rec_heard_from or times[seq], times[seq]))
    put('rec_heard_to', math.max(room.rec_heard_to or times[seq], times[seq]))
  end
  for number, chunk in pairs(chunks) do
    local n = #flat
    flat[n + 1], flat[n + 2] = text(number), chunk
  end
  redis.call('HSET', RECEIPTS, unpack(flat))
end

-- Places that were last confirmed before `limit`.
local function confirmed_before(limit)
  local old = {}
  -- None was, mostly: then nothing is looked at.
  if not room.rec_heard_from or room.rec_heard_from >= limit then return old end
  local flat = redis.call('HGETALL', RECEIPTS)
  for n = 1, #flat, 2 do
    local first, chunk = tonumber(flat[n]) * CHUNK, flat[n + 1]
    for i = 0, CHUNK - 1 do
      local at = time_at(chunk, i)
      if at and at < limit then old[#old + 1] = first + i end
    end
  end
  return old
end
