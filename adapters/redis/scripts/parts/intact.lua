-- Before one person is answered. A room that lacks people would take them for gone: it would acknowledge a leave or an end that
-- the others' recovery undoes, end a good pass, and give a second number. So it is given up as lost at once, as at a tick.
if taken.lacks_people() then
  redis.call('UNLINK', S)
  return { 'unknown' }
end
