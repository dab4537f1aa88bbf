-- Which histories the room's numbers come from, and the sets of a recovery under way. These count from place 0 whatever
-- `base` is: KNOWN (told of), SHOWN (passes shown or used), HELD (places whose receipt was shown), FREE (live places
-- without their owner, also after the recovery).

-- Each incarnation that began with a recovery, and the first number it gave itself.
local function begins_in(words)
  local begins = {}
  for began, first in string.gmatch(words, '(%d+):(%d+)') do
    begins[#begins + 1] = { tonumber(began), tonumber(first) }
  end
  return begins
end

local function put_begins(begins)
  local words = {}
  for i, begin in ipairs(begins) do words[i] = text(begin[1]) .. ':' .. text(begin[2]) end
  put('begins', table.concat(words, ','))
end

-- A new incarnation goes on after those of `words`.
local function begin_lineage(words, incarnation, first)
  local begins = begins_in(words)
  begins[#begins + 1] = { incarnation, first }
  while #begins > LINEAGE_MAX do
    local oldest = table.remove(begins, 1)[1]
    put('origin', math.max(room.origin or oldest, oldest))
  end
  put_begins(begins)
end

local begins = begins_in(raw.begins or '')

-- The incarnation after an older one, and its first number.
local function next_of(incarnation)
  if incarnation >= room.incarnation or (room.origin and incarnation < room.origin) then return nil end
  for _, begin in ipairs(begins) do
    if begin[1] > incarnation then return begin end
  end
  return nil
end

-- Whether a token's number means the same place here.
local function is_ours(incarnation, seq)
  if incarnation == room.incarnation then return true end
  local after = next_of(incarnation)
  return after ~= nil and seq < after[2]
end

-- The same while this incarnation has given no number yet: whatever its parent gave is still free.
local function may_be_ours(incarnation, seq)
  local after = next_of(incarnation)
  return after ~= nil and ((after[1] == room.incarnation and seq < SEQ_MAX) or seq < after[2])
end

local function above_all(top)
  return math.min(top + SEQ_JUMP, SEQ_MAX)
end

-- A number below `top` has been given: new ones start well above it.
local function raise(top, next_seq)
  if not is_recovering() then return end
  put('rec_top', math.max(room.rec_top, top))
  put('next_seq', math.max(room.next_seq, next_seq))
  begins = begins_in(raw.begins)
  if #begins > 0 then
    begins[#begins][2] = room.next_seq
    put_begins(begins)
  end
end

-- Places of a set that counts from place 0.
local function bits_of(key, seqs)
  local ops = {}
  for _, seq in ipairs(seqs) do
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3] = 'GET', 'u1', seq
  end
  return bitfield('BITFIELD_RO', key, ops, 3)
end

local function assign_to(key, seqs, bit)
  local ops = {}
  for _, seq in ipairs(seqs) do
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3], ops[n + 4] = 'SET', 'u1', seq, bit
  end
  bitfield('BITFIELD', key, ops, 4)
end

-- Ended places are nobody's.
local function detach(seqs)
  if #seqs > 0 and redis.call('EXISTS', FREE) == 1 then assign_to(FREE, seqs, 0) end
end
