local key, owner = KEYS[1], ARGV[1]
if redis.call('hexists', key, owner) == 0 then return nil end
local counter = redis.call('hincrby', key, owner, -1)
if counter > 0 then
  redis.call('pexpire', key, 1000000)
  return 0
end
redis.call('del', key)
redis.call('publish', 'unlocked:' .. key, owner)
return 1
