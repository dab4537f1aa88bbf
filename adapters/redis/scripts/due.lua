-- due: milliseconds until the next room wants a tick that wants none yet ('' where none will), and the rooms that want one by
-- now.
local time = redis.call('TIME')
local now = ARGV[1] ~= '' and ARGV[1] or string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
local next = redis.call('ZRANGE', KEYS[1], '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local wait = next[2] and string.format('%.0f', next[2] - now) or ''
return { wait, redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE') }
