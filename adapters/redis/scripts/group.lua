-- group: reads a limit group, and, where ARGV[2] is its version, first replaces it by ARGV[3]. The rules are core/line's, run
-- by the node: this is the compare-and-swap that makes a change one step.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local swapped = 0
if ARGV[2] == version then
  version = string.format('%.0f', version + 1)
  redis.call('HSET', KEYS[1], 'version', version, 'data', ARGV[3])
  swapped = 1
end
local time = redis.call('TIME')
local now = ARGV[1] ~= '' and tonumber(ARGV[1]) or time[1] * 1000 + math.floor(time[2] / 1000)
return { 'ok', swapped, version, now, redis.call('HGET', KEYS[1], 'data') or '' }
