-- a document in a field: a path of it is set, counted, or removed
local text = redis.call('HGET', KEYS[1], 'doc')
local doc = text and cjson.decode(text) or {}
local at, last = doc, nil
local path = {}
for part in string.gmatch(ARGV[1], '[^.]+') do path[#path + 1] = tonumber(part) or part end
for i = 1, #path - 1 do
  if type(at[path[i]]) ~= 'table' then at[path[i]] = {} end
  at = at[path[i]]
end
last = path[#path]
if ARGV[2] == 'set' then at[last] = cjson.decode(ARGV[3])
elseif ARGV[2] == 'incr' then at[last] = (tonumber(at[last]) or 0) + ARGV[3]
else at[last] = nil end
if next(doc) == nil then
  redis.call('HDEL', KEYS[1], 'doc')
  return false
end
local function flat(value, prefix, into)
  if type(value) ~= 'table' then
    into[#into + 1] = prefix .. '=' .. (value == cjson.null and 'null' or tostring(value))
  else
    for k, v in pairs(value) do flat(v, prefix .. '/' .. tostring(k), into) end
  end
  return into
end
redis.call('HSET', KEYS[1], 'doc', cjson.encode(doc))
local lines = flat(cjson.decode(redis.call('HGET', KEYS[1], 'doc')), '', {})
table.sort(lines)
return lines
