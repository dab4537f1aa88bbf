-- Settings as the caller writes them, "capacity=5000 rate_milli=200000 ...", each stored as a scalar of its own.

local function settings_in(words)
  local settings = {}
  for name, value in string.gmatch(words, '(%S+)=(%S*)') do settings[name] = value end
  return settings
end

local function start_rate(settings)
  if settings.pacer == 'fixed' then return tonumber(settings.rate_milli) end
  if settings.pacer == 'aimd' then return tonumber(settings.aimd_start) * 1000 end
  if settings.pacer == 'signal' then return tonumber(settings.signal_start) * 1000 end
  return 0
end

local function store_settings(settings)
  for name, value in pairs(settings) do put('set_' .. name, value) end
end
