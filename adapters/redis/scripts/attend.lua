-- attend: the node ARGV[5] serves the room; noted at most once in ATTEND_EVERY. Nodes are compared as text: their numbers
-- are too long for Lua's.
local node = ARGV[5]
local last = tonumber(redis.call('HGET', NODES, node) or '-')
-- An empty room's clock stands still: what another installation is told goes by the server's.
local wall = wall_ms()
if wall - (room.served_at or 0) >= ATTEND_EVERY then put('served_at', wall) end
if last and room.now - last < ATTEND_EVERY then
  store()
  return answer(0)
end
redis.call('HSET', NODES, node, text(room.now))
if redis.call('HLEN', NODES) > NODES_MAX then
  local flat = redis.call('HGETALL', NODES)
  local oldest
  for i = 1, #flat, 2 do
    local one = { node = flat[i], at = tonumber(flat[i + 1]) }
    local function is_less(other)
      if one.at ~= other.at then return one.at < other.at end
      if #one.node ~= #other.node then return #one.node < #other.node end
      return one.node < other.node
    end
    if not oldest or is_less(oldest) then oldest = one end
  end
  redis.call('HDEL', NODES, oldest.node)
end
record('attended', { 'node', node, 'at', text(room.now) })
return answer(0)
