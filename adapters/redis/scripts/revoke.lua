-- revoke: ends the live pass of each subject in ARGV[5]; a place in line is left alone.
local seqs, passes, revoked, out = {}, {}, {}, {}
for i, place in ipairs(places_of(subjects_in(ARGV[5]))) do
  if place and place.pass and not revoked[place.seq] then
    revoked[place.seq] = true
    seqs[#seqs + 1] = place.seq
    passes[#passes + 1] = place.pass
    out[i] = 'revoked'
  else
    out[i] = 'no_pass'
  end
end
if #seqs > 0 then
  end_places(seqs, passes)
  record('ended', { 'seqs', ranges(seqs), 'reason', 'revoked' })
end
return answer(out)
