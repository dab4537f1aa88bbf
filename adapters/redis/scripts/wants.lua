-- wants: when the room wants its next tick, for a node that looks whether the index of due rooms says the same.
return answer(next_tick())
