-- leave: ends the place or pass of each subject in ARGV[5].
local seqs, passes, left, out = {}, {}, {}, {}
for i, place in ipairs(places_of(subjects_in(ARGV[5]))) do
  if not place or left[place.seq] then
    out[i] = 'unknown'
  else
    left[place.seq] = true
    seqs[#seqs + 1] = place.seq
    if place.pass then passes[#passes + 1] = place.pass end
    out[i] = place.pass and 'pass_ended' or 'left'
  end
end
if #seqs > 0 then
  end_places(seqs, passes)
  add('t_left', #seqs)
  record('ended', { 'seqs', ranges(seqs), 'reason', 'left' })
end
return answer(out)
