-- get or count a miss; a value of another type is an answer, not the end
local value = redis.pcall('GET', KEYS[1])
if type(value) == 'table' and value.err then
  return {'wrong', (string.gsub(value.err, '^%S+ ', ''))}
elseif value then
  redis.call('HINCRBY', KEYS[2], 'hits', 1)
  return value
end
local misses = redis.call('HINCRBY', KEYS[2], 'misses', 1)
if misses % 3 == 0 then error({err = 'MISSES ' .. misses}) end
return nil
