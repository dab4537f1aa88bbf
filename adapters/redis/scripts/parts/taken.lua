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
