-- delete: forgets the room but for its last incarnation, if its life began by incarnation ARGV[5]: who means an older life
-- knows nothing of this one. The limit group it is in stays written, for when it is made again.
if not raw.incarnation then return { 'unknown' } end
if room.format > FORMAT then return { 'newer', room.format, FORMAT } end
if (room.origin or room.incarnation) > tonumber(ARGV[5]) then return { 'unknown' } end
redis.call('UNLINK', S, SUBJ, W, CUR, PREV, ONCE, PASS, UN, CL, MARKS, BLOCK, ALLOW, EV, T, T2, KNOWN, SHOWN,
  HELD, RECEIPTS, FREE, NODES, LANDED)
redis.call('HSET', S, 'buried', raw.incarnation)
redis.call('SPUBLISH', EV, 'deleted')
return { 'ok', room.incarnation, room.event_no, room.next_seq, redis.call('GET', GROUP) or '' }
