-- Ends places and passes outside the tick.
local function end_places(seqs, passes)
  local waits = bits(W, seqs)
  local waited = 0
  for _, bit in ipairs(waits) do waited = waited + bit end
  for _, key in ipairs({ W, CUR, PREV, ONCE }) do assign(key, seqs, 0) end
  add('waiting', -waited)
  detach(seqs)
  -- Whatever a replica says of them later is older.
  if is_recovering() then assign_to(KNOWN, seqs, 1) end
  end_passes(passes)
end
