-- Passes by their ids: ARGV holds incarnation, place and grant of each in turn.

-- For each id its place, and the live pass with exactly this id or false.
local function passes_by_id(from)
  local seqs = {}
  for i = from, #ARGV, 3 do seqs[#seqs + 1] = tonumber(ARGV[i + 1]) end
  local passes = passes_of(seqs)
  for n = 1, #seqs do
    local i = from + (n - 1) * 3
    local exact = passes[n] and is_ours(tonumber(ARGV[i]), passes[n].seq) and passes[n].grant == tonumber(ARGV[i + 2])
    passes[n] = exact and passes[n]
  end
  return passes
end

-- Uses the passes of which `changes` is true: the first use claims, every use slides the end.
local function use_passes(changes)
  local passes = passes_by_id(5)
  local deadline = room.silence_ms + room.set_pass_ttl
  local used, seqs, first = {}, {}, {}
  local claimed = 0
  for i, pass in ipairs(passes) do
    -- One pass named twice is one pass.
    if pass and first[pass.seq] then
      passes[i] = first[pass.seq]
    elseif pass then
      first[pass.seq] = pass
      if changes(pass, deadline) then
        seqs[#seqs + 1] = pass.seq
        used[#used + 1] = pass
        if not pass.claimed_at then
          pass.claimed_at = room.silence_ms
          claimed = claimed + 1
        end
        pass.deadline = math.max(pass.deadline, deadline)
      end
    end
  end
  if #used > 0 then
    write_passes(used)
    add('t_claimed', claimed)
    if is_recovering() then assign_to(SHOWN, seqs, 1) end
    record('touched', { 'seqs', ranges(seqs), 'deadline', text(deadline) })
  end
  local out = {}
  for i, pass in ipairs(passes) do out[i] = pass and { told(pass) } or 'ended' end
  return answer(out)
end
