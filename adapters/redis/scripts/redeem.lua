-- redeem: a one-time token of the pass in ARGV[5] to ARGV[7] is shown to its site: ARGV[8] is the token's number, ARGV[9]
-- the site's call in hex. It lands once, and again for the same call only.
local id = { tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]) }
local pass = passes_of({ id[2] })[1]
if not pass or not is_ours(id[1], id[2]) or id[3] ~= pass.grant then return answer({ 'ended' }) end
-- What was redeemed in a history before this one is not known here.
if id[1] ~= room.incarnation then return answer({ 'used' }) end
local no, nonce = tonumber(ARGV[8]), ARGV[9]
-- Nor is it where the list of them was lost.
if room.landed_until and no <= room.landed_until and redis.call('HEXISTS', LANDED, text(pass.seq)) == 0 then return answer({ 'used' }) end
local landed = redis.call('HGET', LANDED, text(pass.seq))
if landed then
  local incarnation, grant, old_no, old_nonce = string.match(landed, '^(%d+) (%d) (%d+) (%x+)$')
  if incarnation == raw.incarnation and tonumber(grant) == pass.grant then
    if tonumber(old_no) == no and old_nonce == nonce then return answer({ 'redeemed', told(pass) }) end
    if tonumber(old_no) >= no then return answer({ 'used' }) end
  end
end
local deadline = room.silence_ms + room.set_pass_ttl
if not pass.claimed_at then
  pass.claimed_at = room.silence_ms
  add('t_claimed', 1)
end
pass.deadline = math.max(pass.deadline, deadline)
write_passes({ pass })
redis.call('HSET', LANDED, text(pass.seq), table.concat({ raw.incarnation, pass.grant, text(no), nonce }, ' '))
if is_recovering() then assign_to(SHOWN, { pass.seq }, 1) end
record('redeemed', { 'seq', text(pass.seq), 'no', text(no), 'nonce', nonce, 'deadline', text(deadline) })
return answer({ 'redeemed', told(pass) })
