-- lease: an admitter says that it is there, and reads who holds what; and, where ARGV[3] is the record's version, first
-- replaces it by ARGV[4] ('' for nothing). ARGV[2]: the node, '' for who goes away; from ARGV[6] on: who is no admitter any
-- more. Where ARGV[5] is 'due' it reads the index of due rooms as well, which would be a call of its own. The rules are
-- core/line's, run by the node. While nothing moves a renewal is this one call: it is counted, unless the node was silent for
-- so long that others may be taking what it holds. Then it has to replace the record, as they do.
local key, node = KEYS[1], ARGV[2]
local now = wall_ms()
local version = redis.call('HGET', key, 'version') or '0'

-- By the time as well, so that no version of another history is taken for one of this.
local function raised(number)
  return string.format('%.0f', math.max(number + 1, now))
end

local swapped = 0
if ARGV[4] ~= '' and ARGV[3] == version then
  version = raised(version)
  redis.call('HSET', key, 'version', version, 'data', ARGV[4])
  for i = 6, #ARGV do redis.call('HDEL', key, 'at:' .. ARGV[i]) end
  swapped = 1
end

local heard, own, fence = {}, nil, '0'
local flat = redis.call('HGETALL', key)
for i = 1, #flat, 2 do
  local id, at = string.match(flat[i], '^at:(.*)$'), tonumber(flat[i + 1])
  if flat[i] == 'fence' then fence = flat[i + 1] end
  if id then
    if at > now then
      -- The clock was put back: silence counts from now, and whoever has read otherwise reads again.
      at = now
      version = raised(version)
      redis.call('HSET', key, flat[i], string.format('%.0f', now), 'version', version)
    end
    if id == node then own = at end
    heard[#heard + 1] = id
    heard[#heard + 1] = string.format('%.0f', at)
  end
end

local counted = node ~= '' and (swapped == 1 or (own and now - own < LEASE)) and 1 or 0
if counted == 1 or swapped == 1 then fence = raised(fence) end
if counted == 1 then
  redis.call('HSET', key, 'at:' .. node, string.format('%.0f', now), 'fence', fence)
elseif swapped == 1 then
  redis.call('HSET', key, 'fence', fence)
end
local data = version ~= ARGV[3] and redis.call('HGET', key, 'data') or ''
local due = ARGV[5] == 'due' and due_at(KEYS[2], now) or {}
return { 'ok', swapped, counted, version, string.format('%.0f', now), fence, data, heard, due }
