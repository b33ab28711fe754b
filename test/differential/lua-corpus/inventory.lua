-- all of an order or nothing of it
local short = {}
for i = 1, #ARGV, 2 do
  local have = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if have < tonumber(ARGV[i + 1]) then short[#short + 1] = ARGV[i] .. '=' .. have end
end
if #short > 0 then return {err = 'SHORT ' .. table.concat(short, ' ')} end
for i = 1, #ARGV, 2 do
  if redis.call('HINCRBY', KEYS[1], ARGV[i], -ARGV[i + 1]) == 0 then redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return redis.call('HLEN', KEYS[1])
