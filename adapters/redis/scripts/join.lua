-- join: places for the subjects in ARGV[5] (16 bytes each), in order, or what they have already.
local keys = subjects_in(ARGV[5])
local blocked, allowed, known = members_of(BLOCK, keys), members_of(ALLOW, keys), places_of(keys)
local phase = phase_at(room.now)
local first = room.next_seq
local waiting = room.waiting
local people, granted, here, out = {}, {}, {}, {}
local open, walked = flow.walk_ins(phase.kind), 0

local function say(...)
  for _, value in ipairs({ ... }) do out[#out + 1] = value end
end

local function new_place(key)
  people[#people + 1] = key
  return { seq = first + #people - 1, once = 0 }
end

local function let_in(key, place)
  place.granted = true
  here[key] = place
  granted[#granted + 1] = place.seq
  say('allowed', place.seq, place.once + 1, room.set_claim_window, 0)
end

local function join_new(key)
  if phase.kind == 'sold_out' then return say('sold_out') end
  if phase.kind == 'not_open' and not phase.joinable then return say('not_open', phase.opens_at) end
  if phase.kind == 'closed' then return say('closed', phase.reopens_at, phase.message) end
  if phase.kind == 'off' then return say('off') end
  if open > 0 then
    open, walked = open - 1, walked + 1
    return let_in(key, new_place(key))
  end
  if waiting >= room.set_max_waiting then return say('full') end
  waiting = waiting + 1
  local place = new_place(key)
  here[key] = place
  local n = #out
  out[n + 1], out[n + 2] = 'joined', place.seq
end

for i, key in ipairs(keys) do
  local place = here[key] or known[i]
  if blocked[i] == 1 then
    say('blocked')
  elseif place and place.pass then
    say('admitted', told(place.pass))
  elseif place and place.granted then
    say('admitted', place.seq, place.once + 1, room.set_claim_window, 0)
  elseif not place and is_recovering() then
    say('recovering')
  elseif allowed[i] == 1 then
    open = math.max(open - 1, 0)
    let_in(key, place or new_place(key))
  elseif place then
    say(was_called(place) and 'absent' or 'waiting', place.seq)
  else
    join_new(key)
  end
end

if #people > 0 or #granted > 0 then
  give_places(people)
  grant(granted, claim_deadline())
  local fields = { 'first', text(first), 'people', table.concat(people), 'granted', ranges(granted),
    'deadline', text(claim_deadline()) }
  if walked > 0 then
    put('bucket', math.max(room.bucket - walked * TOKEN, 0))
    fields[#fields + 1] = 'walked'
    fields[#fields + 1] = text(walked)
  end
  record('joined', fields)
end
return answer(out)
