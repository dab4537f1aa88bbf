-- Whose history this server goes on with. A room is at home on the server that last wrote it. What a replica has, a disk
-- kept or another server was handed is a copy, and may lack what somebody was told; INFO tells the difference.
--
-- A primary has a replication id and, once it was promoted, its predecessor's. It draws a new one with each start and each
-- promotion; and where nothing was lost, an hour after its last replica went: the same process then, with no predecessor.
local here, predecessor
do
  local info = redis.call('INFO', 'replication')
  here = string.match(info, 'master_replid:(%x+)')
  predecessor = string.match(info, 'master_replid2:(%x+)')
end

local function process()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function settle_here()
  put('home', here or '')
  put('home_run', here and process() or '')
end

-- Whether anybody is in the room as this server has it. Nodes tick such a room every second.
local function is_peopled()
  return room.waiting > 0 or is_recovering() or redis.call('HLEN', PASS) > 0
end

-- 'same': whatever was answered on this room is here. 'promoted': this was a replica of the room's server, which may have
-- lagged. 'other': a server that started anew from its disk, or that was handed the room.
local function whose_history()
  if not here or raw.home == here then return 'same' end
  if (raw.home or '') == '' then
    -- Written by a release that noted no home.
    settle_here()
    return 'same'
  end
  if raw.home == predecessor then return 'promoted' end
  if not string.find(predecessor or '', '[^0]') and raw.home_run == process() then
    put('home', here)
    return 'same'
  end
  return 'other'
end
