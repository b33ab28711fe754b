-- one member for each request within the last ARGV[2] milliseconds
local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. (now - window))
local used = redis.call('ZCARD', KEYS[1])
if used >= limit then
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  return {0, used, tostring(oldest[2] + window - now)}
end
redis.call('ZADD', KEYS[1], now, string.format('%d-%d', now, redis.call('INCR', KEYS[1] .. ':seq')))
redis.call('PEXPIRE', KEYS[1], window)
return {1, used + 1}
