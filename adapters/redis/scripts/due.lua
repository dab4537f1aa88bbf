-- due: what the index of due rooms says now.
return due_at(KEYS[1], wall_ms())
