-- change: one change by an operator; ARGV[5] is its kind, ARGV[6] and ARGV[7] what goes with it.
local kind, a, b = ARGV[5], ARGV[6], ARGV[7]

local function listed(set)
  return redis.call('SISMEMBER', set, a) == 1
end

local function same_settings()
  for name, value in pairs(settings_in(a)) do
    if raw['set_' .. name] ~= value then return false end
  end
  return true
end

local function closed_so()
  local over = room.reopens_at and room.reopens_at <= room.now
  return raw.closed == '1' and raw.reopens_at == a and raw.close_message == b and not over
end

local is_so_already = {
  settings = same_settings,
  pause = function() return raw.paused == '1' end,
  resume = function() return raw.paused ~= '1' end,
  open = function() return schedule_at(room.now) == nil end,
  close = closed_so,
  announce = function() return raw.notice == a end,
  block = function() return listed(BLOCK) end,
  unblock = function() return not listed(BLOCK) end,
  allow = function() return listed(ALLOW) end,
  disallow = function() return not listed(ALLOW) end,
  admit_total = function() return raw.set_admit_total == a end,
  sold_out = function() return raw.sold_out == a end,
}

-- New settings never refill the bucket; an unchanged pacer keeps what it has learned.
local function reset()
  local new = settings_in(a)
  put('bucket', math.min(room.bucket, tonumber(new.burst) * TOKEN))
  local kind = new.pacer
  if raw.set_pacer == kind and (kind == 'aimd' or kind == 'signal') then
    local floor, ceiling = tonumber(new[kind .. '_floor']) * 1000, tonumber(new[kind .. '_ceiling']) * 1000
    put('pacer_rate', math.min(math.max(room.pacer_rate, floor), ceiling))
  else
    put('pacer_rate', start_rate(new))
  end
  if new.opens_at ~= raw.set_opens_at then put('opened_at', '') end
  local other_mode = (raw.set_mode or 'on') ~= new.mode
  store_settings(new)
  if other_mode then flow.begin_auto() end
end

local make_so = {
  settings = reset,
  pause = function() put('paused', '1') end,
  resume = function() put('paused', '') end,
  open = function()
    put('closed', '')
    put('reopens_at', '')
    put('close_message', '')
    put('opened_at', room.now)
  end,
  close = function()
    put('closed', '1')
    put('reopens_at', a)
    put('close_message', b)
  end,
  announce = function()
    put('notice', a)
    put('notice_at', a == '' and '' or room.now)
  end,
  block = function() redis.call('SADD', BLOCK, a) end,
  unblock = function() redis.call('SREM', BLOCK, a) end,
  allow = function() redis.call('SADD', ALLOW, a) end,
  disallow = function() redis.call('SREM', ALLOW, a) end,
  admit_total = function() put('set_admit_total', a) end,
  sold_out = function() put('sold_out', a) end,
}

if (kind == 'block' or kind == 'allow') and taken.lacks_people() then
  -- Whose place it ends, or calls, may not be known: as `intact` has it for other calls on a person.
  redis.call('UNLINK', S)
  return { 'unknown' }
end
if is_so_already[kind]() then return answer('unchanged') end
local ended, granted, deadline = {}, {}, claim_deadline()
if kind == 'block' then
  local place = places_of({ a })[1]
  if place then
    ended[1] = place.seq
    end_places(ended, place.pass and { place.pass } or {})
  end
elseif kind == 'allow' and not listed(BLOCK) then
  local place = places_of({ a })[1]
  if place and place.waits then
    granted[1] = place.seq
    grant(granted, deadline)
  end
end
make_so[kind]()
if is_recovering() then put('rec_operated', '1') end
record('changed', { 'change', kind, 'a', a, 'b', b, 'ended', ranges(ended), 'granted', ranges(granted),
  'deadline', text(deadline) })
return answer('changed')
