-- The room's scalars, and how an operation records its event and answers. Decides nothing.

-- The same as numbers (nil where it is empty or no number).
local room = setmetatable({}, { __index = function(numbers, name)
  local value = raw[name] and tonumber(raw[name])
  rawset(numbers, name, value)
  return value
end })

local changes = {}

local function put(name, value)
  if type(value) == 'number' then
    rawset(room, name, value)
    value = text(value)
  else
    rawset(room, name, tonumber(value))
  end
  raw[name] = value
  changes[name] = value
end

local function add(name, count)
  if count ~= 0 then put(name, room[name] + count) end
end

-- Writes the changed scalars.
local function store()
  local flat = {}
  for name, value in pairs(changes) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  if #flat > 0 then redis.call('HSET', S, unpack(flat)) end
end

-- Keys that hold what nothing else of the room does, in an order of their own; those from the ninth on only while it
-- recovers.
local kept_keys = { { 'subj', SUBJ }, { 'pass', PASS }, { 'w', W }, { 'once', ONCE }, { 'free', FREE }, { 'landed', LANDED },
  { 'block', BLOCK }, { 'allow', ALLOW }, { 'known', KNOWN }, { 'shown', SHOWN }, { 'held', HELD }, { 'receipts', RECEIPTS } }

-- Which of them this event leaves behind, the lists by name with their lengths: what is missing at the next call was taken
-- away (`taken`). Most events make no key and end none: one question for those that the event before left behind and one for
-- the others, instead of one for each, find that out.
local function note_kept(no)
  local last = raw.recovering == '1' and 12 or 8
  local was, there, missing = {}, {}, {}
  for name in string.gmatch(raw.kept or '', '(%a+):') do was[name] = true end
  for i = 1, last do
    local keys = was[kept_keys[i][1]] and there or missing
    keys[#keys + 1] = kept_keys[i][2]
  end
  local function exist(keys) return #keys > 0 and redis.call('EXISTS', unpack(keys)) or 0 end
  local same = exist(there) == #there and exist(missing) == 0
  local words = { text(no) }
  for i = 1, last do
    local name, key = unpack(kept_keys[i])
    local count = same and (was[name] and 1 or 0) or redis.call('EXISTS', key)
    if count > 0 and (i == 7 or i == 8) then count = redis.call('SCARD', key) end
    if count > 0 then words[#words + 1] = name .. ':' .. count end
  end
  put('kept', table.concat(words, ' '))
end

-- The operation's one event: numbered, appended, made known. `fields` are names and values in turn.
local function record(kind, fields)
  local no = room.event_no + 1
  local bytes = 64
  for _, value in ipairs(fields) do bytes = bytes + #value end
  redis.call('XADD', EV, text(no) .. '-0', 'kind', kind, 'in', raw.incarnation, unpack(fields))
  put('event_no', no)
  add('ev_bytes', bytes)
  -- Two segments are kept, the one being filled and the one before: a bound in bytes that XTRIM itself does not have.
  if room.ev_bytes >= EV_SEGMENT_BYTES or no - room.ev_from >= EV_SEGMENT_EVENTS then
    redis.call('XTRIM', EV, 'MINID', text(room.ev_from) .. '-0')
    put('ev_from', no + 1)
    put('ev_bytes', 0)
  end
  note_kept(no)
  store()
  local word = { text(no) }
  if bytes <= EV_TOLD_BYTES then
    -- Small enough to tell instead of being read: its fields as in the stream, each after its length.
    for _, value in ipairs({ 'kind', kind, 'in', raw.incarnation, unpack(fields) }) do
      word[#word + 1] = ' ' .. #value .. ':' .. value
    end
  end
  redis.call('SPUBLISH', EV, table.concat(word))
end

-- What the index of due rooms must be told with the answer: the room's next tick, 'never', or '' for nothing new.
local due_news = function() return '' end

local function answer(outcome)
  return { 'ok', room.incarnation, room.event_no, room.next_seq, outcome, due_news() }
end

local function is_recovering()
  return raw.recovering == '1'
end
