-- admit_now: lets people in beside the tick, by count (ARGV[5] = 'count', ARGV[6]) or by name (ARGV[5] = 'subjects',
-- ARGV[6] = 16 bytes each). Time does not move.

local function by_count(count)
  local inside = live()
  local free = math.min(room_for_more(inside), count)
  if raw.set_grouped == '1' then free = math.min(free, math.max(room.live_quota - inside, 0)) end
  -- A pause stops the tick, not the operator's hand.
  local phase = phase_at(room.now).kind
  -- Nor is anybody let in while a room is told who is next.
  if (phase ~= 'open' and phase ~= 'paused') or is_recovering() then free = 0 end
  local in_lull = room.now < room.lull_until
  local calls = turn(free, in_lull)
  redis.call('UNLINK', T, T2)
  if not in_lull and room.silence_ms >= room.mass_guard_until and is_mass_absence(calls) then
    put('lull_until', room.now + room.set_presence_window)
    put('mass_guard_until', room.silence_ms + room.set_presence_window)
    add('t_mass_absences', 1)
    record('lulled', { 'until', text(room.lull_until), 'guard_until', text(room.mass_guard_until) })
    return answer({ 'mass_absence' })
  end
  local count_called = called(calls)
  if count_called > 0 or calls.serving ~= room.serving then record('called', bring_in(calls)) end
  return answer({ 'called', count_called })
end

local function by_name(keys)
  local blocked, known = members_of(BLOCK, keys), places_of(keys)
  local first = room.next_seq
  local people, granted, new, deadline = {}, {}, {}, claim_deadline()
  for i, key in ipairs(keys) do
    local place = known[i]
    if blocked[i] == 1 or new[key] then
      -- Nothing to give, or given above.
    elseif not place and is_recovering() then
      -- No new number before the old ones are known.
    elseif not place then
      people[#people + 1] = key
      granted[#granted + 1] = first + #people - 1
      new[key] = true
    elseif place.waits then
      granted[#granted + 1] = place.seq
      new[key] = true
    end
  end
  if #granted > 0 then
    give_places(people)
    grant(granted, deadline)
    record('joined', { 'first', text(first), 'people', table.concat(people), 'granted', ranges(granted),
      'deadline', text(deadline) })
  end
  local out = { 'granted' }
  for i, place in ipairs(places_of(keys)) do
    out[i + 1] = place and place.pass and blocked[i] == 0 and { told(place.pass) } or 'blocked'
  end
  return answer(out)
end

if ARGV[5] == 'count' then return by_count(tonumber(ARGV[6])) end
return by_name(subjects_in(ARGV[6]))
