-- Sets of places as strings of bits, worked on in T and T2: what they cost is their bytes.

-- `count` bytes of `key` from byte `from` on, also where it ends before.
local function slice(key, from, count)
  if count <= 0 then return '' end
  local bytes = redis.call('GETRANGE', key, from, from + count - 1)
  return bytes .. string.rep('\0', count - #bytes)
end

local function combined(operation, one, other)
  redis.call('SET', T, one)
  redis.call('SET', T2, other)
  redis.call('BITOP', operation, T, T, T2)
  return redis.call('GET', T) or ''
end

local function both(one, other) return combined('AND', one, other) end
local function either(one, other) return combined('OR', one, other) end
local function without(one, other) return combined('XOR', one, both(one, other)) end

local function is_empty(set)
  return not string.find(set, '[^%z]')
end

-- The set with or without `seqs`, where its first bit is the place `first`.
local function altered(set, first, seqs, bit)
  if #seqs == 0 then return set end
  local ops = {}
  for _, seq in ipairs(seqs) do
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3], ops[n + 4] = 'SET', 'u1', seq - first, bit
  end
  redis.call('SET', T, set)
  bitfield('BITFIELD', T, ops, 4)
  return redis.call('GET', T)
end

local function bits_within(set, first, seqs)
  redis.call('SET', T, set)
  local ops = {}
  for _, seq in ipairs(seqs) do
    local n = #ops
    ops[n + 1], ops[n + 2], ops[n + 3] = 'GET', 'u1', seq - first
  end
  return bitfield('BITFIELD_RO', T, ops, 3)
end

-- Puts `set` into `key`, or takes it out, from byte `from` on.
local function join_in(key, from, set)
  if #set > 0 then redis.call('SETRANGE', key, from, either(slice(key, from, #set), set)) end
end

local function take_out(key, from, set)
  if #set > 0 and redis.call('EXISTS', key) == 1 then
    redis.call('SETRANGE', key, from, without(slice(key, from, #set), set))
  end
end

-- Live passes whose places are in `first..=last`, in any order.
local function inside_within(first, last)
  local seqs = {}
  for _, name in ipairs(redis.call('HKEYS', PASS)) do
    local seq = tonumber(name)
    if seq >= first and seq <= last then seqs[#seqs + 1] = seq end
  end
  return seqs
end

-- Takes passes out without counting an end; `again`: they are written anew at once.
local function drop_passes(seqs, again)
  for from = 1, #seqs, 1000 do
    local fields, members = {}, {}
    for i = from, math.min(from + 999, #seqs) do
      fields[#fields + 1], members[#members + 1] = text(seqs[i]), member(seqs[i])
    end
    redis.call('HDEL', PASS, unpack(fields))
    if not again then redis.call('HDEL', LANDED, unpack(fields)) end
    redis.call('ZREM', UN, unpack(members))
    redis.call('ZREM', CL, unpack(members))
  end
end

-- Writes passes over others, whatever those were.
local function replace_passes(passes)
  for from = 1, #passes, 1000 do
    local some, seqs = {}, {}
    for i = from, math.min(from + 999, #passes) do
      some[#some + 1], seqs[#seqs + 1] = passes[i], passes[i].seq
    end
    drop_passes(seqs, true)
    write_passes(some)
  end
end

-- Places that never were, as far as counts go: they ended in a history that is not this one. A set from place 0 of the
-- byte `from` on, and those of its places that hold passes.
local function forget(set, from, inside)
  for _, key in ipairs({ W, CUR, PREV, ONCE, FREE }) do take_out(key, from, set) end
  drop_passes(inside)
end

local function count_waiting()
  put('waiting', redis.call('BITCOUNT', W))
end
