-- reattach: people show the receipts of their places and passes. ARGV from 5 on holds five a receipt: subject, incarnation,
-- place, when a store last confirmed it, and which grant of a pass ('' for a place). All are judged by the room as it is
-- before them, and by those before them in the batch.
local receipts, keys, asked = {}, {}, {}
for i = 5, #ARGV, 5 do
  receipts[#receipts + 1] = { subject = ARGV[i], incarnation = tonumber(ARGV[i + 1]), seq = tonumber(ARGV[i + 2]),
    as_of = tonumber(ARGV[i + 3]), grant = tonumber(ARGV[i + 4]) }
  keys[#keys + 1] = ARGV[i]
  asked[#asked + 1] = tonumber(ARGV[i + 2])
end
local recovering = is_recovering()
local blocked, has_place = members_of(BLOCK, keys), places_of(keys)

-- What the room knows of each place that a receipt names or its owner has.
local places = {}
do
  for i = 1, #receipts do
    if has_place[i] then asked[#asked + 1] = has_place[i].seq end
  end
  local waits, once, passes, free = bits(W, asked), bits(ONCE, asked), passes_of(asked), bits_of(FREE, asked)
  local known, shown, at = bits_of(KNOWN, asked), bits_of(SHOWN, asked), {}
  if recovering then at = confirmed_at(asked) end
  for i, seq in ipairs(asked) do
    places[seq] = { waits = waits[i] == 1, once = once[i] == 1, pass = passes[i], free = free[i] == 1,
      known = known[i] == 1, shown = shown[i] == 1, confirmed = at[i],
      live = waits[i] == 1 or passes[i] ~= false }
  end
end

local top, next_seq = recovering and room.rec_top or 0, room.next_seq
local top_before = top
local people, oldest = {}, nil
local waiting, by_grant, ended, confirmed, shown, attached, here = {}, { {}, {} }, {}, {}, {}, {}, {}

local function names(receipt)
  return is_ours(receipt.incarnation, receipt.seq) or (recovering and may_be_ours(receipt.incarnation, receipt.seq))
end

-- A live place without an owner, or one that nobody has told of yet.
local function is_free(receipt)
  local place = places[receipt.seq]
  if attached[receipt.seq] or ended[receipt.seq] then return false end
  if place.free then return names(receipt) end
  return recovering and not place.known and not place.live and may_be_ours(receipt.incarnation, receipt.seq)
end

-- Whether someone who has the place `has` keeps it against the receipt of `seq`.
local function keeps(has, seq)
  local first_own = recovering and next_seq or (#begins > 0 and begins[#begins][2] or 1)
  -- Two numbers of one history: the older had ended when the newer was given.
  if has < first_own then return has > seq end
  -- Given since the loss, without knowing of the older number, which is the better place; only inside is better.
  return places[has].pass ~= false
end

-- Notes what a receipt shows of a place that is its owner's.
local function confirm(receipt)
  if not recovering then return end
  local seq, place = receipt.seq, places[receipt.seq]
  if receipt.incarnation < room.incarnation and (not room.rec_oldest or receipt.incarnation < room.rec_oldest) then
    oldest = math.min(oldest or receipt.incarnation, receipt.incarnation)
  end
  if not receipt.grant then
    -- Nothing was confirmed after the loss, whatever a node's clock says.
    local as_of = math.min(receipt.as_of, room.rec_began)
    local known = math.max(place.confirmed or -1, confirmed[seq] or -1)
    if as_of > known then confirmed[seq] = as_of end
    return
  end
  if not place.shown then shown[seq] = true end
  local step = place.pass and place.pass.grant or 0
  if receipt.grant > step and not (place.once and receipt.grant == 1) then
    by_grant[receipt.grant == 1 and 1 or 2][seq] = true
  end
end

-- A place that its owner has given up; one that this batch made was never told to anybody.
local function give_up(seq)
  if not seq then return end
  waiting[seq], by_grant[1][seq], by_grant[2][seq], confirmed[seq] = nil, nil, nil, nil
  local kept = {}
  for _, one in ipairs(people) do
    if one.seq ~= seq then kept[#kept + 1] = one end
  end
  people = kept
  ended[seq] = true
end

local function attach(receipt)
  local seq = receipt.seq
  attached[seq] = true
  here[receipt.subject] = seq
  people[#people + 1] = { subject = receipt.subject, seq = seq }
  if not places[seq].live then
    if not receipt.grant then waiting[seq] = true end
    top = math.max(top, seq + 1)
    next_seq = math.max(next_seq, above_all(seq + 1))
  end
  confirm(receipt)
end

-- Whose place counts after this receipt, and whether it was attached by it.
local function judged(i, receipt)
  local seq, free = receipt.seq, is_free(receipt)
  local has = here[receipt.subject] or (has_place[i] and has_place[i].seq)
  if has and ended[has] then has = nil end
  if blocked[i] == 1 then
    if free and places[seq].live then ended[seq] = true end
    return { blocked = true }
  end
  if has and has == seq and names(receipt) then
    confirm(receipt)
    return { seq = has }
  end
  if has and free and keeps(has, seq) then
    ended[seq] = true
    return { seq = has }
  end
  if not free then return { seq = has or nil } end
  give_up(has)
  attach(receipt)
  return { seq = seq, attached = true }
end

local out = {}
for i, receipt in ipairs(receipts) do out[i] = judged(i, receipt) end

local function listed(set)
  local seqs = {}
  for seq in pairs(set) do seqs[#seqs + 1] = seq end
  table.sort(seqs)
  return seqs
end
local gone, wait, in_use, heard = listed(ended), listed(waiting), listed(shown), listed(confirmed)
local passes = { listed(by_grant[1]), listed(by_grant[2]) }

local function apply()
  local last = 0
  for _, seqs in ipairs({ wait, passes[1], passes[2] }) do last = math.max(last, seqs[#seqs] or 0) end
  if last >= room.base then cover(last) end
  for _, key in ipairs({ W, CUR, PREV, ONCE }) do assign(key, gone, 0) end
  detach(gone)
  drop_passes(gone)
  local theirs = {}
  for i, one in ipairs(people) do theirs[i] = one.seq end
  detach(theirs)
  assign(W, wait, 1)
  assign(ONCE, passes[2], 1)
  for grant, seqs in ipairs(passes) do
    for _, key in ipairs({ W, CUR, PREV }) do assign(key, seqs, 0) end
    -- Only the cookie knows of it so far: its times are settled with the window's end.
    local new = {}
    for i, seq in ipairs(seqs) do
      new[i] = { seq = seq, grant = grant, deadline = 0, granted_at = 0, claimed_at = 0 }
    end
    replace_passes(new)
  end
  -- Whoever shows a receipt is here.
  local present = {}
  for _, seqs in ipairs({ heard, theirs, in_use }) do
    for i, bit in ipairs(bits(W, seqs)) do
      if bit == 1 then present[#present + 1] = seqs[i] end
    end
  end
  assign(CUR, present, 1)
  raise(top, next_seq)
  if recovering then
    assign_to(KNOWN, gone, 1)
    assign_to(SHOWN, in_use, 1)
    assign_to(HELD, heard, 1)
    confirm_at(heard, confirmed)
    if oldest then put('rec_oldest', math.min(room.rec_oldest or oldest, oldest)) end
  end
  local flat = {}
  for _, one in ipairs(people) do
    local n = #flat
    flat[n + 1], flat[n + 2] = one.subject, text(one.seq)
  end
  if #flat > 0 then redis.call('HSET', SUBJ, unpack(flat)) end
  count_waiting()
  local subjects, receipts_told = {}, {}
  for i, one in ipairs(people) do subjects[i] = one.subject end
  for i, seq in ipairs(heard) do receipts_told[i] = text(seq) .. ' ' .. text(confirmed[seq]) end
  local order = {}
  for i, seq in ipairs(theirs) do order[i] = text(seq) end
  record('reattached', { 'people', table.concat(subjects), 'seqs', table.concat(order, ','), 'waiting', ranges(wait),
    'first_passes', ranges(passes[1]), 'second_passes', ranges(passes[2]), 'ended', ranges(gone),
    'receipts', table.concat(receipts_told, ','), 'shown', ranges(in_use), 'oldest', oldest and text(oldest) or '',
    'top', text(top), 'next_seq', text(next_seq) })
end

if #people > 0 or #gone > 0 or #passes[1] > 0 or #passes[2] > 0 or #heard > 0 or #in_use > 0 or top > top_before then
  apply()
end
local seqs, at = {}, {}
for i, one in ipairs(out) do
  if one.seq then
    seqs[#seqs + 1] = one.seq
    at[#at + 1] = i
  end
end
local waits, once, inside = bits(W, seqs), bits(ONCE, seqs), passes_of(seqs)
local told_outcomes = {}
for i, one in ipairs(out) do told_outcomes[i] = { one.blocked and 'blocked' or 'ended' } end
for n, i in ipairs(at) do
  local seq = text(seqs[n])
  if inside[n] then
    told_outcomes[i] = { 'admitted', told(inside[n]) }
  elseif waits[n] == 0 then
    told_outcomes[i] = { 'ended' }
  elseif out[i].attached then
    told_outcomes[i] = { 'restored', seq }
  elseif was_called({ seq = seqs[n], once = once[n] }) then
    told_outcomes[i] = { 'absent', seq }
  else
    told_outcomes[i] = { 'waiting', seq }
  end
end
return answer(told_outcomes)
