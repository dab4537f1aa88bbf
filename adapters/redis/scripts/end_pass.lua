-- end_pass: the owners are done; their slots come back at once.
local seqs, passes, ended, out = {}, {}, {}, {}
for i, pass in ipairs(passes_by_id(5)) do
  if pass and not ended[pass.seq] then
    ended[pass.seq] = true
    seqs[#seqs + 1] = pass.seq
    passes[#passes + 1] = pass
    out[i] = 'ended'
  else
    out[i] = 'unknown'
  end
end
if #seqs > 0 then
  end_places(seqs, passes)
  record('ended', { 'seqs', ranges(seqs), 'reason', 'done' })
end
return answer(out)
