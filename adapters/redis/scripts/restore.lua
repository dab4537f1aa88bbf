-- restore: merges what a node's replica knew. ARGV[5] node, [6] '1' once it has told everything, [7] the highest next
-- number it has seen, [8] its head as words, [9] the notice and [10] the closing message in it, [11] the head as the event
-- holds it; [12] the part's first place (a multiple of 8), [13] to [15] the places known, waiting and on their second
-- chance as bits from there on, all of one length, [16] the passes: "place grant granted claimed paying deadline,...".
if not is_recovering() then return answer({ 'late' }) end
local node, done = ARGV[5], ARGV[6] == '1'
local head = settings_in(ARGV[8])
local function number(name) return tonumber(head[name]) end
local head_origin = number('origin') or number('incarnation')

-- Histories of one life overlap: the replica's reaches into the one that this room goes on from.
local function is_of_this_life()
  local oldest = room.origin or 0
  local parent = #begins > 1 and begins[#begins - 1][1] or oldest
  if number('incarnation') >= room.incarnation or number('incarnation') < oldest then return false end
  return not room.origin or head_origin <= math.max(parent, oldest)
end
if not is_of_this_life() then return answer({ 'foreign' }) end

local first, known, waiting, once = tonumber(ARGV[12]), ARGV[13], ARGV[14], ARGV[15]
local from, count = first / 8, #known
local last = first + count * 8 - 1

local function seqs_of(passes)
  local seqs = {}
  for i, pass in ipairs(passes) do seqs[i] = pass.seq end
  return seqs
end

local function passes_in(words)
  local passes = {}
  for seq, pass in string.gmatch(words, '(%d+) ([^,]+)') do
    passes[#passes + 1] = parsed(tonumber(seq), pass)
  end
  return passes
end

-- The second grant is the later one; of one grant, whatever happened to it counts.
local function merged(one, other)
  if one.grant ~= other.grant then return one.grant > other.grant and one or other end
  local function later(name)
    if one[name] and other[name] then return math.max(one[name], other[name]) end
    return one[name] or other[name]
  end
  return { seq = one.seq, grant = one.grant, granted_at = later('granted_at'), claimed_at = later('claimed_at'),
    paying_since = later('paying_since'), deadline = later('deadline') }
end

local function equal(one, other)
  for _, name in ipairs({ 'grant', 'granted_at', 'claimed_at', 'paying_since', 'deadline' }) do
    if one[name] ~= other[name] then return false end
  end
  return true
end

local there = passes_in(ARGV[16])
local alive = altered(waiting, first, seqs_of(there), 1)
local inside = count > 0 and inside_within(first, last) or {}
local here = passes_of(inside)
local in_line, told, chances = slice(W, from, count), slice(KNOWN, from, count), slice(ONCE, from, count)
local live_here = altered(in_line, first, inside, 1)
local ended = both(without(known, alive), live_here)
local dead = without(both(alive, told), live_here)

local news = { known = without(known, told), ended = ended, once = without(without(once, chances), dead) }
news.waiting = without(without(waiting, in_line), dead)
do
  local stay, wait, ran_out = {}, bits_within(news.waiting, first, inside), bits_within(once, first, inside)
  for i, pass in ipairs(here) do
    -- A pass here is a step further than a place there, unless it has run out there for the first time.
    if wait[i] == 1 and not (ran_out[i] == 1 and pass.grant == 1) then stay[#stay + 1] = pass.seq end
  end
  news.waiting = altered(news.waiting, first, stay, 0)
end
news.passes = {}
do
  local by_seq = {}
  for _, pass in ipairs(here) do by_seq[pass.seq] = pass end
  local seqs = seqs_of(there)
  local is_dead, had_chance = bits_within(dead, first, seqs), bits_within(chances, first, seqs)
  for i, pass in ipairs(there) do
    local mine = by_seq[pass.seq]
    local after = mine and merged(mine, pass) or pass
    local behind = not mine and had_chance[i] == 1 and pass.grant == 1
    if is_dead[i] == 0 and not behind and not (mine and equal(mine, after)) then
      news.passes[#news.passes + 1] = after
    end
  end
end

local head_in, head_no = number('incarnation'), number('event_no')
local is_newer = head_in > room.rec_told_in or (head_in == room.rec_told_in and head_no > room.rec_told_no)
local top = math.max(room.rec_top, tonumber(ARGV[7]), number('next_seq'))
local next_seq = math.max(room.next_seq, above_all(top))
local awaited, is_awaited = {}, false
for name in string.gmatch(raw.rec_awaited, '%d+') do
  if name == node then is_awaited = true else awaited[#awaited + 1] = name end
end
done = done and is_awaited
local says_more = is_newer or done or top > room.rec_top or #news.passes > 0
for _, name in ipairs({ 'known', 'ended', 'once', 'waiting' }) do
  says_more = says_more or not is_empty(news[name])
end
if not says_more then
  redis.call('UNLINK', T, T2)
  return answer({ 'merged' })
end

-- The room as a whole as the newest replica has it. The bucket stays: it fills by this history's time only.
local function take_head()
  for _, name in ipairs({ 'serving', 'served', 'pacer_rate', 'pacer_due', 't_joined', 't_admitted', 't_claimed',
    't_no_shows', 't_absent', 't_returned', 't_absence_ended', 't_left', 't_dwells', 't_dwell_ms', 't_stays', 't_stay_ms',
    't_mass_absences' }) do
    put(name, number(name))
  end
  if raw.rec_operated ~= '1' then
    for _, name in ipairs({ 'paused', 'closed', 'reopens_at', 'opened_at', 'sold_out', 'notice_at' }) do
      put(name, head[name])
    end
    put('notice', ARGV[9])
    put('close_message', ARGV[10])
  end
  put('line_ms', math.max(room.line_ms, number('line_ms')))
  put('silence_ms', math.max(room.silence_ms, number('silence_ms')))
  put('window_start', room.silence_ms)
  local own = begins_in(raw.begins)
  own = own[#own]
  put('origin', head_origin)
  begin_lineage(head.begins, own[1], own[2])
  put('rec_told_in', head_in)
  put('rec_told_no', head_no)
  put('rec_told_at', math.max(room.rec_told_at, number('now')))
end

local came = seqs_of(news.passes)
local now_inside = altered(string.rep('\0', count), first, came, 1)
local new = without(either(news.waiting, now_inside), live_here)
local gone, wait = {}, {}
do
  local has_ended, waits = bits_within(news.ended, first, inside), bits_within(news.waiting, first, inside)
  for i, seq in ipairs(inside) do
    if has_ended[i] == 1 then gone[#gone + 1] = seq end
    if waits[i] == 1 then wait[#wait + 1] = seq end
  end
end
if count > 0 then
  -- What ended lived here: within the bitmaps.
  forget(string.sub(news.ended, 1, math.max(room.len - from, 0)), from, gone)
  drop_passes(wait)
  local shown = either(slice(SHOWN, from, count), slice(HELD, from, count))
  if not is_empty(either(news.waiting, either(news.once, now_inside))) then
    cover(last)
    join_in(W, from, news.waiting)
    join_in(CUR, from, both(news.waiting, shown))
    join_in(ONCE, from, news.once)
    for _, key in ipairs({ W, CUR, PREV }) do take_out(key, from, now_inside) end
  end
  replace_passes(news.passes)
  if not is_empty(new) then join_in(FREE, from, new) end
  join_in(KNOWN, from, news.known)
  count_waiting()
end
raise(top, next_seq)
if done then put('rec_awaited', table.concat(awaited, ',')) end
if is_newer then take_head() end
redis.call('UNLINK', T, T2)
local passes = {}
for i, pass in ipairs(news.passes) do
  passes[i] = table.concat({ text(pass.seq), pass.grant, text(pass.granted_at), or_never(pass.claimed_at),
    or_never(pass.paying_since), text(pass.deadline) }, ' ')
end
record('restored', { 'known', bitmap(first, news.known), 'ended', bitmap(first, news.ended),
  'waiting', bitmap(first, news.waiting), 'once', bitmap(first, news.once), 'passes', table.concat(passes, ','),
  'head', is_newer and ARGV[11] or '', 'top', text(top), 'next_seq', text(next_seq), 'done', done and node or '' })
return answer({ 'merged' })
