-- events: up to ARGV[7] events after number ARGV[6] of incarnation ARGV[5] ('0': the present one), or that they are lost.
-- Of a copy of the room they are: whoever follows it reads it again and finds out what became of it. A room with nobody in
-- it can wait for that until somebody comes: there may be ten thousand of them.
local incarnation, after = tonumber(ARGV[5]), tonumber(ARGV[6])
if (incarnation ~= 0 and incarnation ~= room.incarnation) or after > room.event_no then return { 'feed_lost' } end
if whose_history() ~= 'same' and is_peopled() then return { 'feed_lost' } end
if after == room.event_no then return answer({}) end
local events = redis.call('XRANGE', EV, text(after + 1) .. '-0', '+', 'COUNT', ARGV[7])
if #events == 0 or events[1][1] ~= text(after + 1) .. '-0' then return { 'feed_lost' } end
return answer(events)
