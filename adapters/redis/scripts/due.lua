-- due: the rooms that want a tick by now.
local time = redis.call('TIME')
local now = ARGV[1] ~= '' and ARGV[1] or string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
return redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE')
