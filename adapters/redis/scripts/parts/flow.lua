-- What a room sees of its own traffic and of the site behind it: core's `mode.rs` and `signal.rs`. One table, for a script
-- may have 200 names at most. Rooms of an older release lack its scalars: as good as zero or empty.
local flow = {}

local function kept(name, value)
  if (raw[name] or '') ~= value then put(name, value) end
end

-- Each source's last word: {source, load, till}, in order of source. A source is text: its digits are too many.
function flow.words()
  local words = {}
  for source, load, till in string.gmatch(raw.words or '', '(%d+):(%d):(%d+)') do
    words[#words + 1] = { source = source, load = tonumber(load), till = tonumber(till) }
  end
  return words
end

function flow.keep_words(words)
  table.sort(words, function(one, other)
    if #one.source ~= #other.source then return #one.source < #other.source end
    return one.source < other.source
  end)
  local parts = {}
  for i, word in ipairs(words) do parts[i] = table.concat({ word.source, word.load, text(word.till) }, ':') end
  kept('words', table.concat(parts, ','))
end

-- The worst word that counts now, or nil.
function flow.worst()
  local worst
  for _, word in ipairs(flow.words()) do
    if word.till > room.now then worst = math.max(worst or 0, word.load) end
  end
  return worst
end

local function queue_at_live()
  local capacity = room.set_capacity
  return math.min(room.set_auto_live or capacity - math.floor(capacity / 5), capacity)
end

local function queue_at_arrivals()
  return math.max(room.set_auto_arrivals or math.ceil(room.set_rate_milli / 1000), 1)
end

local function newcomers()
  return math.max(room.t_joined - (room.auto_joined or 0), 0)
end

-- Whether anybody is in line, or was passed over and is back.
local function anybody_waits()
  if room.waiting == 0 then return false end
  redis.call('BITOP', 'AND', T, W, ONCE)
  redis.call('BITOP', 'XOR', T, T, W)
  local found = next_in(T, room.serving + 1, room.next_seq - 1)
  if not found then
    redis.call('BITOP', 'OR', T, CUR, PREV)
    found = next_in(T, 1, room.next_seq - 1)
  end
  redis.call('UNLINK', T)
  return found ~= nil
end

-- How many newcomers may walk in before the next tick, in a room whose phase is of this kind.
function flow.walk_ins(kind)
  if raw.set_mode ~= 'auto' or raw.set_grouped == '1' or is_recovering() or room.pacer_rate == 0 then return 0 end
  local inside = live()
  local idle = room.waiting == 0 and inside == 0
  if ((raw.auto_since or '') ~= '' and not idle) or kind ~= 'open' or anybody_waits() then return 0 end
  local places = math.min(math.max(queue_at_live() - inside, 0), room_for_more(inside))
  local more = math.max(queue_at_arrivals() - newcomers(), 0)
  return math.min(places, more, math.floor(room.bucket / TOKEN))
end

function flow.begin_auto()
  local auto = raw.set_mode == 'auto'
  kept('auto_since', '')
  kept('auto_why', '')
  kept('auto_window', auto and text(room.line_ms) or '0')
  kept('auto_joined', auto and text(room.t_joined) or '0')
  kept('auto_busy', '0')
end

local function shown()
  return table.concat({ raw.auto_since or '', raw.auto_why or '', text(room.auto_window or 0),
    text(room.auto_joined or 0), text(room.auto_busy or 0), raw.words or '' }, ';')
end

local function watch()
  local span = math.max(room.line_ms - (room.auto_window or 0), 0)
  -- More than a second's worth within less than a second is enough.
  local per_span = queue_at_arrivals() * math.max(span, 1000)
  redis.call('BITOP', 'OR', T, CUR, PREV)
  local why
  if live() >= queue_at_live() then
    why = 'live'
  elseif newcomers() * 1000 >= per_span then
    why = 'arrivals'
  elseif redis.call('BITCOUNT', T) > 0 then
    why = 'line'
  end
  if why then
    kept('auto_busy', text(room.line_ms))
    if (raw.auto_since or '') == '' then
      kept('auto_since', text(room.now))
      kept('auto_why', why)
    end
  elseif (raw.auto_since or '') ~= '' then
    local idle = room.waiting == 0 and live() == 0
    if idle or math.max(room.line_ms - (room.auto_busy or 0), 0) >= room.set_auto_quiet then
      kept('auto_since', '')
      kept('auto_why', '')
    end
  end
  if span >= TICK then
    kept('auto_window', text(room.line_ms))
    kept('auto_joined', text(room.t_joined))
  end
end

-- What the room knows of its traffic after a tick, whose calls are made; the event's fields where that changed.
function flow.after_tick()
  local before = shown()
  local words = {}
  for _, word in ipairs(flow.words()) do
    if word.till > room.now then words[#words + 1] = word end
  end
  flow.keep_words(words)
  if raw.set_mode == 'auto' then watch() end
  local after = shown()
  return after == before and {} or { 'flow', after }
end
