-- What somebody took away from under the room: an eviction at maxmemory, or a hand. The scalars are all there, and say what
-- should be. One table, for a script may have 200 names at most.
local evicted = {}

local function is_whole(key)
  return redis.call('STRLEN', key) == room.len
end

-- Who waits, who is inside or who has which place is not known here any more; nodes know it. After a recovery nobody may
-- have shown whose a place is.
function evicted.is_torn()
  if room.waiting > 0 and not is_whole(W) then return true end
  if live() ~= redis.call('ZCARD', UN) + redis.call('ZCARD', CL) then return true end
  return not is_recovering() and room.waiting + live() > 0 and redis.call('EXISTS', SUBJ, FREE) == 0
end

-- Whether it was lost who was heard from: a silence that is our fault. The bitmaps are mended.
function evicted.was_deaf()
  if room.len == 0 or (is_whole(CUR) and is_whole(PREV)) then return false end
  for _, key in ipairs({ CUR, PREV }) do
    if not is_whole(key) then redis.call('SETRANGE', key, room.len - 1, '\0') end
  end
  return true
end
