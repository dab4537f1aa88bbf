-- seen: the places whose bits are set in ARGV[6] were heard from; ARGV[5] is the first one's number, a multiple of 8.
-- Its cost is the bytes, not the people.
local first, bytes = tonumber(ARGV[5]), ARGV[6]
local from = (first - room.base) / 8
if from < 0 then
  bytes = string.sub(bytes, 1 - from)
  first, from = room.base, 0
end
bytes = string.sub(bytes, 1, math.max(room.len - from, 0))
if #bytes == 0 then return answer(0) end
-- Who else was heard from is lost: the next tick finds that out by the whole key, not by a piece of it.
if redis.call('EXISTS', CUR) == 0 then return answer(0) end
local to = from + #bytes - 1

-- The part of `key` under the bits, in T2.
local function under(key)
  redis.call('SET', T2, redis.call('GETRANGE', key, from, to))
end

redis.call('SET', T, bytes)
under(W)
redis.call('BITOP', 'AND', T, T, T2)
under(CUR)
redis.call('BITOP', 'AND', T2, T, T2)
redis.call('BITOP', 'XOR', T, T, T2)
local new = redis.call('BITPOS', T, 1)
if new >= 0 then
  local seqs = redis.call('GETRANGE', T, math.floor(new / 8), -1)
  under(CUR)
  redis.call('BITOP', 'OR', T2, T2, T)
  redis.call('SETRANGE', CUR, from, redis.call('GET', T2))
  record('seen', { 'seqs', bitmap(first + math.floor(new / 8) * 8, seqs) })
end
redis.call('UNLINK', T, T2)
return answer(0)
