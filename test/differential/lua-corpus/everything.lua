-- any command with any arguments: called, called with errors caught, and what comes back by its type
local call = ARGV[1] == 'pcall' and redis.pcall or redis.call
local words = {}
for i = 2, #ARGV do words[#words + 1] = tonumber(ARGV[i]) or ARGV[i] end
local function kinds(value)
  if type(value) ~= 'table' then return type(value) end
  if value.ok then return 'ok:' .. value.ok end
  if value.err then return 'err:' .. value.err end
  local all = {}
  for i, item in ipairs(value) do all[i] = kinds(item) end
  return '{' .. table.concat(all, ',') .. '}'
end
local reply = call(unpack(words))
return {kinds(reply), reply}
