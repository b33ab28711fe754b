-- keeps the best score of a player and answers the places around it
local improved = 0
local old = redis.call('ZSCORE', KEYS[1], ARGV[1])
local new = tonumber(ARGV[2])
if not old or new > tonumber(old) then
  redis.call('ZADD', KEYS[1], new, ARGV[1])
  improved = 1
end
local rank = redis.call('ZREVRANK', KEYS[1], ARGV[1])
local around = redis.call('ZREVRANGE', KEYS[1], math.max(0, rank - 1), rank + 1, 'WITHSCORES')
local lines = {}
for i = 1, #around, 2 do
  lines[#lines + 1] = ('%2d. %-6s %8.2f'):format((i + 1) / 2, around[i], tonumber(around[i + 1]))
end
return {improved, rank, lines}
