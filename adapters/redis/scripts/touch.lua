-- touch: slides the end of passes in use; implies the claim, never shortens.
return use_passes(function(pass, deadline) return not pass.claimed_at or pass.deadline < deadline end)
