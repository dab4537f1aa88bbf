-- extend_for_payment: one pass does not expire for ARGV[8] ms, within PAYMENT_EXTENSION_MAX of the first such call.
local id = { tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]) }
local pass = passes_of({ id[2] })[1]
if not pass or not is_ours(id[1], id[2]) or id[3] ~= pass.grant then return answer({ 'ended' }) end
local now = room.silence_ms
local since = pass.paying_since or now
local limit = since + PAYMENT_EXTENSION_MAX
local deadline = math.max(pass.deadline, math.min(limit, now + tonumber(ARGV[8])))
if deadline ~= pass.deadline or not pass.paying_since then
  pass.paying_since, pass.deadline = since, deadline
  write_passes({ pass })
  record('extended', { 'seq', text(pass.seq), 'deadline', text(deadline), 'since', text(since) })
end
return answer({ limit <= now and 'limit_reached' or 'extended', told(pass) })
