-- The stored texts by name: all there are.
local raw = {}
do
  local flat = redis.call('HGETALL', S)
  for i = 1, #flat, 2 do raw[flat[i]] = flat[i + 1] end
end

