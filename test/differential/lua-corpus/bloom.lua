-- a small Bloom filter over a bitmap
local h = tonumber(string.sub(redis.sha1hex(ARGV[1]), 1, 8), 16)
local g = tonumber(string.sub(redis.sha1hex(ARGV[1]), 9, 16), 16)
local known = 1
for i = 0, 3 do
  local position = bit.band(bit.tobit(h + i * g), 0x3ff)
  if redis.call('SETBIT', KEYS[1], position, 1) == 0 then known = 0 end
end
return {known, redis.call('BITCOUNT', KEYS[1])}
