-- a lock that its holder may take again: a hash of how often who holds it
local key, ttl, owner = KEYS[1], tonumber(ARGV[1]), ARGV[2]
if redis.call('exists', key) == 0 or redis.call('hexists', key, owner) == 1 then
  redis.call('hincrby', key, owner, 1)
  redis.call('pexpire', key, ttl)
  return nil
end
return redis.call('hlen', key)
