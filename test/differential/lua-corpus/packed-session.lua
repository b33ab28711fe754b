-- a session as MessagePack: what it counts, and when it was seen
local raw = redis.call('GET', KEYS[1])
local session = raw and cmsgpack.unpack(raw) or {0, {}, false}
session[1] = session[1] + 1
local seen = session[2]
seen[#seen + 1] = tonumber(ARGV[1]) or ARGV[1]
if #seen > 4 then table.remove(seen, 1) end
session[3] = #seen == 4
redis.call('SET', KEYS[1], cmsgpack.pack(session))
return {redis.call('GET', KEYS[1]), session}
