-- a job with an id: a hash, its place by its priority or its delay; the same id twice is one job
local wait, delayed, priorities, meta = unpack(KEYS)
local id, payload, delay, priority = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if id == '' then id = 'auto-' .. redis.call('HINCRBY', meta, 'id', 1) end
local key = meta .. ':' .. id
if redis.call('EXISTS', key) ~= 0 then return id .. '' end
redis.call('HMSET', key, 'data', payload, 'delay', delay, 'priority', priority)
if delay > 0 then
  redis.call('ZADD', delayed, delay * 0x1000 + redis.call('INCR', meta .. ':n') % 0x1000, id)
elseif priority == 0 then
  redis.call('RPUSH', wait, id)
else
  redis.call('ZADD', priorities, priority, id)
  local before = redis.call('ZCOUNT', priorities, 0, priority)
  local pivot = redis.call('LRANGE', wait, -before, -before)[1]
  if pivot then redis.call('LINSERT', wait, 'BEFORE', pivot, id) else redis.call('RPUSH', wait, id) end
end
return id
