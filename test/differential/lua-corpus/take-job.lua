-- the next job with its hash, as a table and as JSON
local id = redis.call('RPOPLPUSH', KEYS[1], KEYS[2])
if not id then return redis.status_reply('EMPTY') end
local fields, flat = {}, redis.call('HGETALL', KEYS[3] .. ':' .. id)
for i = 1, #flat, 2 do fields[flat[i]] = flat[i + 1] end
local names = {}
for name in pairs(fields) do names[#names + 1] = name end
table.sort(names)
local parts = {}
for i, name in ipairs(names) do parts[i] = cjson.encode(name) .. ':' .. cjson.encode(fields[name]) end
return {id, '{' .. table.concat(parts, ',') .. '}', tonumber(fields.delay or 0)}
