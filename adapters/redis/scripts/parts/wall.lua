-- The server's time in milliseconds, or the one that a test sets. Asked for once: it stands still while a script runs.
local wall_ms
do
  local wall = tonumber(ARGV[1])
  wall_ms = function()
    if not wall then
      local time = redis.call('TIME')
      wall = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    return wall
  end
end

