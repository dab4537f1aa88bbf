-- set_group: notes the limit group that the room is in, ARGV[5] ('' for none), whether the room exists or not. With
-- ARGV[6] only if it was in that group. Answers with the group before.
local before = redis.call('GET', GROUP) or ''
if ARGV[6] == '' or ARGV[6] == before then
  if ARGV[5] == '' then
    redis.call('DEL', GROUP)
  else
    redis.call('SET', GROUP, ARGV[5])
  end
end
return { 'ok', 0, 0, 0, before }
