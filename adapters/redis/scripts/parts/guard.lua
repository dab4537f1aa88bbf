-- What every operation on an existing room asks first: is it there, can this script read it, has it lost history.
if not raw.incarnation then
  return { 'unknown' }
end
if room.format > FORMAT then
  return { 'newer', room.format, FORMAT }
end
do
  local incarnation, event_no, next_seq = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
  if room.incarnation < incarnation or (room.incarnation == incarnation
      and (room.event_no < event_no or room.next_seq < next_seq)) then
    return { 'lost', room.incarnation, room.event_no, room.next_seq }
  end
end
