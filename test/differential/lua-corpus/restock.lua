local total = 0
for i = 1, #ARGV, 2 do
  local ok = redis.pcall('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1])
  if type(ok) == 'table' and ok.err then return ok end
  total = total + ok
end
return total
