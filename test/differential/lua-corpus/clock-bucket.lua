-- the same by the server's time; its answer does not depend on which moment that is
redis.replicate_commands()
local t = redis.call('TIME')
local now = t[1] + t[2] / 1e6
local first = redis.call('HSETNX', KEYS[1], 'since', tostring(now))
local since = tonumber(redis.call('HGET', KEYS[1], 'since'))
redis.call('DEL', KEYS[1])
return {first, #t, type(t[1]), now - since > -1, now - since < 3600, now > 1.6e9}
