-- events: up to ARGV[7] events after number ARGV[6] of incarnation ARGV[5] ('0': the present one), or that they are lost.
-- Every node asks for every event, so it reads the four scalars that it needs, and not the room.
local S, EV = KEYS[1], KEYS[13]
local scalars = redis.call('HMGET', S, 'incarnation', 'event_no', 'next_seq', 'format')
if not scalars[1] then return { 'unknown' } end
for i, value in ipairs(scalars) do scalars[i] = tonumber(value) end
local present, event_no, next_seq, format = unpack(scalars)
if format > FORMAT then return { 'newer', format, FORMAT } end
local incarnation, after = tonumber(ARGV[5]), tonumber(ARGV[6])
if (incarnation ~= 0 and incarnation ~= present) or after > event_no then return { 'feed_lost' } end
local events = {}
if after < event_no then
  local first = string.format('%.0f-0', after + 1)
  events = redis.call('XRANGE', EV, first, '+', 'COUNT', ARGV[7])
  if #events == 0 or events[1][1] ~= first then return { 'feed_lost' } end
end
return { 'ok', present, event_no, next_seq, events, '' }
