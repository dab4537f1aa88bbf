-- read: the room's whole state at one event number; with ARGV[5] = 'everything' the subjects and lists too. A script and
-- no transaction, since a server at maxmemory refuses even those that only read.
local state = { redis.call('HGETALL', S), redis.call('GET', W), redis.call('GET', CUR), redis.call('GET', PREV),
  redis.call('GET', ONCE), redis.call('HGETALL', PASS), redis.call('ZRANGE', MARKS, 0, -1, 'WITHSCORES') }
if ARGV[5] == 'everything' then
  state[8], state[9], state[10] =
    redis.call('HGETALL', SUBJ), redis.call('SMEMBERS', BLOCK), redis.call('SMEMBERS', ALLOW)
end
return answer(state)
