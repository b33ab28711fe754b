-- done, to be tried again, or failed for good; keeps the last three
local active, failed, wait, meta = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, outcome = ARGV[1], ARGV[2]
if redis.call('LREM', active, -1, id) == 0 then return redis.error_reply('MISSING ' .. id) end
local key = meta .. ':' .. id
if outcome == 'ok' then
  redis.call('DEL', key)
  return 0
end
local attempts = redis.call('HINCRBY', key, 'attempts', 1)
if attempts < 3 then
  redis.call('LPUSH', wait, id)
  return -attempts
end
redis.call('ZADD', failed, attempts, id)
local dropped = redis.call('ZRANGE', failed, 0, -4)
for _, old in ipairs(dropped) do redis.call('UNLINK', meta .. ':' .. old) end
redis.call('ZREMRANGEBYRANK', failed, 0, -4)
return dropped
