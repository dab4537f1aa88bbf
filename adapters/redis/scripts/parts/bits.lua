-- Sets of places as bitmaps: the bit of a place is its number less `base`. All four have the same length, `len` bytes, for
-- BITOP falls to a byte loop on unequal ones. No place below `base` is in any of them.

-- Operations in one BITFIELD: `unpack` stops near 8,000 values.
local BITFIELD_OPS = 1500

local function bitfield(command, key, ops, width)
  local replies = {}
  for from = 1, #ops, BITFIELD_OPS * width do
    local to = math.min(from + BITFIELD_OPS * width - 1, #ops)
    for _, reply in ipairs(redis.call(command, key, unpack(ops, from, to))) do
      replies[#replies + 1] = reply
    end
  end
  return replies
end

-- The bit of each place: 0 or 1.
local function bits(key, seqs)
  local found, ops, at = {}, {}, {}
  for i, seq in ipairs(seqs) do
    found[i] = 0
    if seq >= room.base then
      local n = #ops
      ops[n + 1], ops[n + 2], ops[n + 3] = 'GET', 'u1', seq - room.base
      at[#at + 1] = i
    end
  end
  for i, bit in ipairs(bitfield('BITFIELD_RO', key, ops, 3)) do found[at[i]] = bit end
  return found
end

local function assign(key, seqs, bit)
  local ops = {}
  for _, seq in ipairs(seqs) do
    if seq >= room.base then
      local n = #ops
      ops[n + 1], ops[n + 2], ops[n + 3], ops[n + 4] = 'SET', 'u1', seq - room.base, bit
    end
  end
  bitfield('BITFIELD', key, ops, 4)
end

-- Lengthens the bitmaps until they reach the place `seq`.
local function cover(seq)
  local bytes = math.floor((seq - room.base) / 8) + 1
  if bytes <= room.len then return end
  local len = math.ceil(math.max(bytes, room.len * 1.25) / 64) * 64
  for _, key in ipairs({ W, CUR, PREV, ONCE }) do
    -- One that is missing was taken away, which a tick tells by its length.
    if room.len == 0 or redis.call('EXISTS', key) == 1 then redis.call('SETRANGE', key, len - 1, '\0') end
  end
  put('len', len)
end

-- Puts in the `count` places from `first` on. 48 bits at a time: the widest whose numbers are exact here.
local function fill(key, first, count)
  local ops = {}
  local off = first - room.base
  while count > 0 do
    local width = math.min(count, 48)
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3], ops[n + 4] = 'SET', 'u' .. width, off, text(2 ^ width - 1)
    off, count = off + width, count - width
  end
  bitfield('BITFIELD', key, ops, 4)
end

-- The first place of `key` in `from..=to`, or nil.
local function next_in(key, from, to)
  from, to = math.max(from, room.base), math.min(to, room.base + room.len * 8 - 1)
  if from > to then return nil end
  local at = redis.call('BITPOS', key, 1, from - room.base, to - room.base, 'BIT')
  if at < 0 then return nil end
  return at + room.base
end

-- How many places of `key` are in `from..=to`.
local function count_in(key, from, to)
  from, to = math.max(from, room.base), math.min(to, room.base + room.len * 8 - 1)
  if from > to then return 0 end
  return redis.call('BITCOUNT', key, from - room.base, to - room.base, 'BIT')
end

-- A set as text, "1-5,9"; sorts the list.
local function ranges(seqs)
  table.sort(seqs)
  local parts = {}
  local i = 1
  while i <= #seqs do
    local last = i
    while seqs[last + 1] == seqs[last] + 1 do last = last + 1 end
    parts[#parts + 1] = text(seqs[i]) .. (last > i and '-' .. text(seqs[last]) or '')
    i = last + 1
  end
  return table.concat(parts, ',')
end

-- A set as the bits from the place `first` (a multiple of 8) on, for sets with no order in them.
local function bitmap(first, bytes)
  return '#' .. text(first) .. ':' .. bytes
end
