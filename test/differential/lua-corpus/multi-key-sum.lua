-- variadic: sums what numbers there are, stops at the first error
local sum, seen = 0, {}
for i, key in ipairs(KEYS) do
  local n = tonumber(redis.call('GET', key) or nil)
  if n then
    sum = sum + n
    seen[#seen + 1] = {key, n}
  end
end
table.sort(seen, function(a, b) return a[2] > b[2] or (a[2] == b[2] and a[1] < b[1]) end)
if #ARGV > 0 then redis.call('MSET', unpack(ARGV)) end
return {sum, tostring(sum), seen}
