-- how many more are allowed in this window
local current = redis.call('INCRBY', KEYS[1], ARGV[3] or 1)
if current == tonumber(ARGV[3] or 1) then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
local limit = tonumber(ARGV[1])
local ttl = redis.call('TTL', KEYS[1])
return {current <= limit and 1 or 0, math.max(0, limit - current), ttl > 0}
