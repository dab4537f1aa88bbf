-- Who has which place. An ended place stays in the index until a tick clears it: it and an unknown one are one answer.

-- The 16-byte keys in `blob`.
local function subjects_in(blob)
  local keys = {}
  for i = 1, #blob, 16 do keys[#keys + 1] = string.sub(blob, i, i + 15) end
  return keys
end

-- 1 for each key that the set holds, else 0.
local function members_of(set, keys)
  if #keys > 0 and redis.call('EXISTS', set) == 1 then
    return redis.call('SMISMEMBER', set, unpack(keys))
  end
  local none = {}
  for i = 1, #keys do none[i] = 0 end
  return none
end

-- For each key its place that waits or holds a pass, {seq, waits, once, pass}, or false.
local function places_of(keys)
  local found = {}
  if #keys == 0 then return found end
  local seqs, at = {}, {}
  for i, seq in ipairs(redis.call('HMGET', SUBJ, unpack(keys))) do
    found[i] = false
    if seq then
      seqs[#seqs + 1] = tonumber(seq)
      at[#at + 1] = i
    end
  end
  if #seqs == 0 then return found end
  local waits, once, passes = bits(W, seqs), bits(ONCE, seqs), passes_of(seqs)
  for n, i in ipairs(at) do
    if waits[n] == 1 or passes[n] then
      found[i] = { seq = seqs[n], waits = waits[n] == 1, once = once[n], pass = passes[n] }
    end
  end
  return found
end

local function was_called(place)
  return place.seq <= room.serving or place.once == 1
end

-- Gives the places from `next_seq` on to `people`.
local function give_places(people)
  if #people == 0 then return end
  local first = room.next_seq
  local flat = {}
  for i, key in ipairs(people) do
    flat[#flat + 1] = key
    flat[#flat + 1] = text(first + i - 1)
  end
  redis.call('HSET', SUBJ, unpack(flat))
  cover(first + #people - 1)
  fill(W, first, #people)
  fill(CUR, first, #people)
  put('next_seq', first + #people)
  add('waiting', #people)
  add('t_joined', #people)
end
