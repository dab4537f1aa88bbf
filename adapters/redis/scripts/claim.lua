-- claim: the first use of passes. A claimed pass tells its end and does not change.
return use_passes(function(pass) return not pass.claimed_at end)
