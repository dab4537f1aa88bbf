-- The stored texts by name, for who only wants to know which room this is and how far it has come: whose it is, and whether
-- anybody is in it.
local raw = {}
do
  local names = { 'incarnation', 'format', 'event_no', 'next_seq', 'home', 'home_run', 'waiting', 'recovering' }
  for i, value in ipairs(redis.call('HMGET', S, unpack(names))) do raw[names[i]] = value or nil end
end

