-- group: reads a limit group, and, where ARGV[2] is its version, first replaces it by ARGV[3]. The rules are core/line's, run
-- by the node: this is the compare-and-swap that makes a change one step.
local version = redis.call('HGET', KEYS[1], 'version') or '0'
local swapped = 0
if ARGV[2] == version then
  version = string.format('%.0f', version + 1)
  redis.call('HSET', KEYS[1], 'version', version, 'data', ARGV[3])
  swapped = 1
end
return { 'ok', swapped, version, wall_ms(), redis.call('HGET', KEYS[1], 'data') or '' }
