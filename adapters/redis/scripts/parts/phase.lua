-- What the room as a whole is doing at a time: `kind`, and what goes with it.

local function schedule_at(now)
  if raw.closed == '1' and not (room.reopens_at and room.reopens_at <= now) then
    return { kind = 'closed', reopens_at = raw.reopens_at, message = raw.close_message }
  end
  local closes_at, opened_at = room.set_closes_at, room.opened_at
  if closes_at and closes_at <= now and (not opened_at or closes_at > opened_at) then
    return { kind = 'closed', reopens_at = '', message = '' }
  end
  local opens_at = room.set_opens_at
  if opens_at and now < opens_at and not opened_at then
    local joins_start = room.set_joins_from or opens_at
    return { kind = 'not_open', opens_at = opens_at, joinable = joins_start <= now }
  end
  return nil
end

local function phase_at(now)
  if raw.set_mode == 'off' then return { kind = 'off' } end
  if raw.sold_out == '1' or (room.set_admit_total and room.t_admitted >= room.set_admit_total) then
    return { kind = 'sold_out' }
  end
  return schedule_at(now) or { kind = raw.paused == '1' and 'paused' or 'open' }
end
