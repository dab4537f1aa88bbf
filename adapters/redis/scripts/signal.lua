-- signal: the source ARGV[5] says that the site's load is ARGV[6] (0 ok, 1 busy, 2 overloaded), for ARGV[7] ms.
if raw.set_pacer ~= 'signal' then return answer('unheeded') end
local source, load = ARGV[5], tonumber(ARGV[6])
local span = math.min(tonumber(ARGV[7]), SIGNAL_SPAN_MAX)
local words = {}
for _, word in ipairs(flow.words()) do
  if word.source ~= source then
    if word.till > room.now then words[#words + 1] = word end
  elseif word.load == load and word.till - room.now > math.floor(span / 2) then
    return answer('unchanged')
  end
end
if #words >= SIGNAL_SOURCES_MAX then
  -- Whose word ends soonest has said nothing for longest. In order of source, so that the first of equals goes.
  local oldest = 1
  for i, word in ipairs(words) do
    if word.till < words[oldest].till then oldest = i end
  end
  table.remove(words, oldest)
end
local till = room.now + span
words[#words + 1] = { source = source, load = load, till = till }
flow.keep_words(words)
record('signalled', { 'source', source, 'load', text(load), 'until', text(till) })
return answer('heard')
