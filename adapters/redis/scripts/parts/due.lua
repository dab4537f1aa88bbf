-- When the room wants its next tick: 0 is at once, 'never' not by itself. Whoever changes it tells the index of due rooms;
-- so does whoever finds that a room which wants ticks has had none for a while: the node that should have told may be gone.

local function next_tick()
  if room.waiting > 0 or redis.call('HLEN', PASS) > 0 or is_recovering() then return '0' end
  if raw.set_grouped == '1' and room.live_quota > 0 then return '0' end
  local soonest
  local reopens_at = raw.closed == '1' and room.reopens_at or nil
  local times = { room.set_opens_at or 0, room.set_closes_at or 0, room.set_joins_from or 0, reopens_at or 0 }
  for _, at in ipairs(times) do
    if at > room.now then soonest = math.min(soonest or at, at) end
  end
  return soonest and text(soonest) or 'never'
end

if raw.incarnation then
  local before = next_tick()
  due_news = function()
    local after = next_tick()
    if after ~= before then return after end
    if after ~= '0' then return '' end
    return wall_ms() - room.now > UNTICKED and after or ''
  end
end
