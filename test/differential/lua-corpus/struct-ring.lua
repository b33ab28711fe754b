-- a ring of eight samples in one string, 12 bytes each
local size = struct.size('>Id')
local at = redis.call('INCR', KEYS[1] .. ':at') % 8
redis.call('SETRANGE', KEYS[1], at * size, struct.pack('>Id', at, tonumber(ARGV[1])))
local sum, count = 0, 0
local data = redis.call('GET', KEYS[1])
for offset = 1, #data, size do
  local index, value, following = struct.unpack('>Id', data, offset)
  if index ~= 0 or value ~= 0 then sum, count = sum + value, count + 1 end
  assert(following == offset + size)
end
return {count, string.format('%.4g', sum / math.max(count, 1))}
