-- delayed jobs whose time has come are put on their queue
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for i, job in ipairs(due) do
  redis.call('ZREM', KEYS[1], job)
  redis.call('LPUSH', KEYS[2], job)
end
local next_at = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
return {#due, next_at}
