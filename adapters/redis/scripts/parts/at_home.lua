-- A copy of a room changes by nothing but a recovery, or the word of all who know the room that it lacks nothing.
if whose_history() ~= 'same' then
  return { 'lost', room.incarnation, room.event_no, room.next_seq }
end
