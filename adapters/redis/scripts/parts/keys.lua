-- The names of a room's keys, and numbers as text. Every key is in KEYS; ARGV begins with the test clock's time (empty in
-- production) and the caller's mark.
local S, SUBJ, W, CUR, PREV, ONCE, PASS, UN, CL, MARKS, BLOCK, ALLOW, EV, GROUP, T, T2, KNOWN, SHOWN, HELD, RECEIPTS,
  FREE, NODES, LANDED = unpack(KEYS)

-- tostring() keeps 14 digits only; places and incarnations have up to 16.
local function text(number)
  return string.format('%.0f', number)
end

