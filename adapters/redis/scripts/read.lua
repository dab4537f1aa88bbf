-- read: the room's whole state at one event number; with ARGV[5] = 'everything' the subjects and lists too. A script and
-- no transaction, since a server at maxmemory refuses even those that only read.
local state = { redis.call('HGETALL', S), redis.call('GET', W), redis.call('GET', CUR), redis.call('GET', PREV),
  redis.call('GET', ONCE), redis.call('HGETALL', PASS), redis.call('ZRANGE', MARKS, 0, -1, 'WITHSCORES'),
  redis.call('GET', FREE), redis.call('HGETALL', NODES) }
-- What a recovery under way has been told.
state[10], state[11], state[12] = '', '', {}
if is_recovering() then
  state[10], state[11] = redis.call('GET', KNOWN), redis.call('GET', SHOWN)
  state[12] = redis.call('HGETALL', RECEIPTS)
end
state[13] = redis.call('HGETALL', LANDED)
if ARGV[5] == 'everything' then
  state[14], state[15], state[16] =
    redis.call('HGETALL', SUBJ), redis.call('SMEMBERS', BLOCK), redis.call('SMEMBERS', ALLOW)
end
return answer(state)
