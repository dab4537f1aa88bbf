-- The room's clock: the server's TIME plus an offset, as StoreClock in core/line. It never steps back: after a backward
-- step of the server's clock the offset makes up for it, and shrinks again, slowly or by what the clock jumps forward.

local function store_time()
  local wall = wall_ms()
  local offset, credit = room.clock_offset, room.clock_credit
  local since = math.max(wall - room.clock_wall, 0)
  if since > TICK_LATE then
    offset = math.max(offset - since, 0)
  else
    credit = credit + since
    local made_up = math.min(offset, math.floor(credit / SLEW))
    offset, credit = offset - made_up, credit - made_up * SLEW
  end
  if offset == 0 then credit = 0 end
  local now = wall + offset
  if now < room.now then
    offset = offset + room.now - now
    now = room.now
  end
  put('clock_wall', wall)
  put('clock_offset', offset)
  put('clock_credit', credit)
  return now
end
