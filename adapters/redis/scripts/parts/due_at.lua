-- What the index of due rooms says at a time: milliseconds until the next room wants a tick that wants none yet ('' where none
-- will), and the rooms that want one by then.
local function due_at(index, time)
  local now = string.format('%.0f', time)
  local next = redis.call('ZRANGE', index, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
  local wait = next[2] and string.format('%.0f', next[2] - time) or ''
  return { wait, redis.call('ZRANGE', index, '-inf', now, 'BYSCORE') }
end

