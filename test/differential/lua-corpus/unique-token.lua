-- one job at a time for what makes it unique
local taken = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if taken then
  redis.call('SADD', KEYS[2], ARGV[1])
  return taken
end
local held = redis.call('GET', KEYS[1])
if redis.call('SISMEMBER', KEYS[2], held) == 0 then
  redis.call('DEL', KEYS[1])
  return {'orphan', held}
end
return {'held', held, redis.sha1hex(held)}
