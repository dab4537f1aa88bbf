-- What somebody took away from under the room: an eviction at maxmemory, or a hand. The scalars are all there, and say what
-- should be; `taken` says what is missing. One table, for a script may have 200 names at most.
local evicted = {}

local function is_whole(key)
  return redis.call('STRLEN', key) == room.len
end

-- Who waits, who is inside, who has which place or is on a second chance is not known here any more; nodes know it. After a
-- recovery nobody may have shown whose a place is, and within one what was told counts.
function evicted.is_torn()
  local inside = live()
  local people = room.waiting + inside
  if room.waiting > 0 and not is_whole(W) then return true end
  if inside ~= redis.call('ZCARD', UN) + redis.call('ZCARD', CL) then return true end
  if not is_recovering() and people > 0 and redis.call('EXISTS', SUBJ, FREE) == 0 then return true end
  if people > 0 and not is_whole(ONCE) then return true end
  return taken.lacks_people()
end

-- Nobody waits and nobody is inside: nothing is lost with bitmaps that held nothing.
function evicted.mend_empty()
  if room.len == 0 or room.waiting + live() > 0 then return end
  for _, key in ipairs({ W, ONCE }) do
    if not is_whole(key) then redis.call('SETRANGE', key, room.len - 1, '\0') end
  end
end

-- When the frontier passed whom: whoever was called while away has all of their grace again.
function evicted.mend_marks()
  if room.serving > 0 and not is_recovering() and redis.call('EXISTS', MARKS) == 0 then
    redis.call('ZADD', MARKS, text(room.silence_ms), member(room.serving))
  end
end

-- Which one-time tokens were redeemed: none that was made so far is good any more. Their numbers begin with the second of
-- the room's clock.
function evicted.refuse_tokens()
  if taken.landed then put('landed_until', (math.floor(room.now / 1000) + 1) * TICKETS_A_SECOND - 1) end
end

-- How many people of the lists by name are known no more. Nobody else knows them: somebody has to name them again. What was
-- taken is seen to with that.
function evicted.unlisted()
  if (raw.taken or '') ~= '' then put('taken', '') end
  return (taken.block or 0) + (taken.allow or 0)
end

-- Whether it was lost who was heard from: a silence that is our fault. The bitmaps are mended.
function evicted.was_deaf()
  if room.len == 0 or (is_whole(CUR) and is_whole(PREV)) then return false end
  for _, key in ipairs({ CUR, PREV }) do
    if not is_whole(key) then redis.call('SETRANGE', key, room.len - 1, '\0') end
  end
  return true
end
