-- What was taken away since the last event, by an eviction at maxmemory or a hand: keys go whole. Looked for before anything
-- is written, as a write may make them anew, and kept until a tick sees to it. An event of a release that does not note what
-- it leaves behind has another number, and then nothing is compared.
local taken = {}
do
  for name, count in string.gmatch(raw.taken or '', '(%a+):(%d+)') do taken[name] = tonumber(count) end
  local no, left = string.match(raw.kept or '', '^(%d+)(.*)$')
  if no and tonumber(no) == room.event_no then
    local counts, keys = {}, {}
    for name, count in string.gmatch(left, '(%a+):(%d+)') do counts[name] = count end
    for _, one in ipairs(kept_keys) do
      if counts[one[1]] then keys[#keys + 1] = one[2] end
    end
    if #keys > 0 and redis.call('EXISTS', unpack(keys)) < #keys then
      local words = {}
      for _, one in ipairs(kept_keys) do
        local name, key = unpack(one)
        if counts[name] and redis.call('EXISTS', key) == 0 then taken[name] = tonumber(counts[name]) end
        if taken[name] then words[#words + 1] = name .. ':' .. taken[name] end
      end
      put('taken', table.concat(words, ' '))
    end
  end
end

-- Whether people are missing by it: who waits, who is inside, who has which place or is on a second chance; while the room
-- recovers also what was told of them. With the names, for a script may have 200 of its own at most.
function taken.lacks_people()
  if taken.pass or taken.free then return true end
  local line = taken.subj or taken.w or taken.once
  if line and room.waiting + redis.call('HLEN', PASS) > 0 then return true end
  return is_recovering() and (taken.known or taken.shown or taken.held or taken.receipts) ~= nil
end
