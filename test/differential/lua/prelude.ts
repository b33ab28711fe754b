/**
 * What every program begins with. `out` notes values as text that says everything of them: types,
 * all digits, what is in tables by the order of their keys, which is not Lua's to choose.
 */
export const PRELUDE = `local notes, left = {}, 400
local function show(v, depth)
  if type(v) == 'number' then
    if v ~= v then return 'nan' end
    if v == 0 then return 1 / v < 0 and '-0' or '0' end
    return string.format('%.17g', v)
  end
  if type(v) == 'string' then return string.format('%q', v) end
  if type(v) ~= 'table' then
    return (type(v) == 'function' or type(v) == 'thread') and type(v) or tostring(v)
  end
  if depth > 3 then return '{..}' end
  local fields = {}
  local k, field = next(v)
  while k ~= nil do
    fields[#fields + 1] = '[' .. show(k, depth + 1) .. ']=' .. show(field, depth + 1)
    k, field = next(v, k)
  end
  table.sort(fields)
  return '{' .. table.concat(fields, ' ') .. '}'
end
local function out(...)
  local shown = {}
  for i = 1, select('#', ...) do shown[i] = show((select(i, ...)), 0) end
  if #notes < 100 then notes[#notes + 1] = table.concat(shown, ' ') end
  return ...
end
local function fuel()
  left = left - 1
  return left > 0 or error('no fuel', 0)
end
local function cap(v, ...)
  if type(v) == 'string' and #v > 60 then v = string.sub(v, 1, 60) end
  return v, ...
end
`;

/** Lines of the prelude, which error messages count. */
export const PRELUDE_LINES = PRELUDE.split('\n').length - 1;

/** A program that answers what its statements noted. */
export function program(statements: readonly string[], answer = 'notes'): string {
  return `${PRELUDE}${statements.join('\n')}\nreturn ${answer}`;
}
