-- a longer life for a lock that is still the caller's; tells whose it is otherwise
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]))
  return redis.call('PTTL', KEYS[1]) > 0
end
return {err = 'NOTOWNER held by ' .. tostring(owner)}
