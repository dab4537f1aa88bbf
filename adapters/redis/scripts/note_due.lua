-- note_due: the index of due rooms hears when the room ARGV[1] wants its next tick (ARGV[4]: a time, 'never', or 'gone'
-- for a deleted room), as of the event ARGV[3] of incarnation ARGV[2]. Older news than it has is no news. A change is made
-- known to those who keep what the index said. Answers whether there was one.
local incarnation, event_no = tonumber(ARGV[2]), tonumber(ARGV[3])
local known = redis.call('HGET', KEYS[2], ARGV[1])
if known then
  local known_in, known_no = string.match(known, '^(%d+) (%d+)$')
  known_in, known_no = tonumber(known_in), tonumber(known_no)
  if incarnation < known_in or (incarnation == known_in and event_no < known_no) then return 0 end
end
if ARGV[4] == 'gone' then
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
end
local changed
if ARGV[4] == 'gone' or ARGV[4] == 'never' then
  changed = redis.call('ZREM', KEYS[1], ARGV[1])
else
  changed = redis.call('ZADD', KEYS[1], 'CH', ARGV[4], ARGV[1])
end
if changed > 0 then redis.call('SPUBLISH', KEYS[1], ARGV[1]) end
return changed
