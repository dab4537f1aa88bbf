-- What a room tells its limit group: whether it is in one, the newest grant it has used, its live passes, who could be
-- called now, the quota of that grant, and whether it recovers.
local function report()
  local wants, inside = 0, live()
  -- While it recovers, all that the group has lent may be in use.
  if is_recovering() then inside = math.max(inside, room.live_quota) end
  -- A room that admits nobody now would only waste the admissions lent to it.
  if raw.set_grouped == '1' and phase_at(room.now).kind == 'open' and not is_recovering() then
    redis.call('BITOP', 'OR', T, CUR, PREV)
    wants = redis.call('BITCOUNT', T)
    redis.call('UNLINK', T)
  end
  return { raw.set_grouped == '1' and 1 or 0, room.grant_no, inside, wants, room.live_quota,
    is_recovering() and 1 or 0 }
end
