-- The recovery window's end: who was not vouched for has ended, and the line goes on in order of number.

-- Every node that there was has told all it knows, and no number was given that none of them knows.
local function is_complete()
  if raw.rec_awaited ~= '' then return false end
  local below = room.rec_top - 1
  return below <= 0 or redis.call('BITCOUNT', KNOWN, 0, text(below), 'BIT') == below
end

local function is_over()
  if not is_recovering() then return false end
  return room.now >= room.lull_until or (room.now >= room.rec_began + RECOVERY_MIN and is_complete())
end

-- Live places that nobody fresh vouches for: neither a telling nor a receipt from shortly before the loss, which is taken
-- to be at the newest confirmation that anybody has shown.
local function stale(alive)
  local newest = math.max(room.rec_told_at, room.rec_heard_to or 0)
  local fresh_from = newest - 2 * room.set_presence_window
  alive = without(alive, slice(SHOWN, 0, #alive))
  if room.rec_told_at >= fresh_from then alive = without(alive, slice(KNOWN, 0, #alive)) end
  assign_to(HELD, confirmed_before(fresh_from), 0)
  return without(alive, slice(HELD, 0, #alive))
end

-- No pass ends before its owner could use it again, and those in use run on.
local function settle_passes(inside, in_use, used_until, floor)
  for from = 1, #inside, 1000 do
    local some = {}
    for i = from, math.min(from + 999, #inside) do some[#some + 1] = inside[i] end
    local changed = {}
    for i, pass in ipairs(passes_of(some)) do
      local used = in_use[from + i - 1] == 1
      if used or pass.deadline < floor then
        pass.deadline = math.max(pass.deadline, used and used_until or floor)
        -- Zero where only its cookie was known.
        if used and pass.granted_at == 0 then pass.granted_at = room.silence_ms end
        if used and (not pass.claimed_at or pass.claimed_at == 0) then pass.claimed_at = room.silence_ms end
        changed[#changed + 1] = pass
      end
    end
    write_passes(changed)
  end
end

-- Ends the recovery; the event's fields beside the tick's.
local function settle()
  put('lull_until', room.now + room.set_presence_window)
  local inside = inside_within(1, SEQ_MAX)
  local waiting = slice(W, 0, room.len)
  local within = altered(string.rep('\0', room.len), 0, inside, 1)
  local ended = stale(either(waiting, within))
  local used = without(both(slice(SHOWN, 0, room.len), within), ended)
  local has_ended = bits_within(ended, 0, inside)
  local gone, kept = {}, {}
  for i, seq in ipairs(inside) do
    local list = has_ended[i] == 1 and gone or kept
    list[#list + 1] = seq
  end
  forget(ended, 0, gone)
  count_waiting()
  local used_until, floor = room.silence_ms + room.set_pass_ttl, room.silence_ms + room.set_claim_window
  settle_passes(kept, bits_within(used, 0, kept), used_until, floor)
  -- Whoever was called while away has all of their grace again: nobody could be heard meanwhile.
  redis.call('DEL', MARKS)
  redis.call('ZADD', MARKS, text(room.silence_ms), member(room.serving))
  -- Where nobody knew the room's origin, the oldest receipt that counted tells it.
  put('origin', room.origin or room.rec_oldest or room.incarnation)
  put('recovering', '')
  redis.call('UNLINK', KNOWN, SHOWN, HELD, RECEIPTS)
  return { 'ended', bitmap(0, ended), 'used', bitmap(0, used), 'used_until', text(used_until), 'floor', text(floor) }
end
