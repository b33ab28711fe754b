-- tokens come back at ARGV[1] in a second, up to ARGV[2]
local rate, capacity, asked, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local bucket = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = tonumber(bucket[1] or false) or capacity
local at = tonumber(bucket[2] or '') or now
tokens = math.min(capacity, tokens + math.max(0, now - at) * rate)
local allowed = tokens >= asked
if allowed then tokens = tokens - asked end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('EXPIRE', KEYS[1], math.ceil(capacity / rate) * 2)
return {allowed and 1 or 0, string.format('%.3f', tokens), tostring(tokens)}
