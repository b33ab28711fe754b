/** Random programs: every statement of Lua, over the variables of `expressions.ts`. */
import fc from 'fast-check';
import { expressions, short } from './expressions.ts';
import { type Lua, list, lua, oneOf, pick } from './template.ts';

export const DECLARATIONS = `local zero = tonumber('0')
local n, m, s, w = 3, -1.5, 'abc', '12'
local t, u = {1, 2, 3, n = 5, s = 'q', k = {}}, {'a', 'b', s = 'str', k = {1}}
local x, y = 2, {k = 'v'}
local function f(x, ...) fuel() return x, ... end
local function g(...) fuel() return select('#', ...), (...) end
t.f, u.f, t.t = f, g, u`;

const { number, string, table, boolean, any } = expressions;
const numberName = oneOf('n', 'm');
const stringName = oneOf('s', 'w');
const tableName = oneOf('t', 'u');
const anyName = pick([2, oneOf('x', 'y')], [1, oneOf('n', 's', 't')]);
/** Never a gap: the place behind the last, or one of those before. */
const place = pick(
  [3, oneOf('.a', '.b', '.n', '.s', "['k']", '[1.5]', '[true]', '[-1]', '.z')],
  [1, short.any.map((text) => `[(${text}) == nil and 'nil' or 'v']`)],
);

const simple: Lua = pick(
  [3, lua`${numberName} = ${number}`],
  [3, lua`${stringName} = cap(${string})`],
  [2, lua`${tableName} = ${table}`],
  [3, lua`${anyName} = cap(${any})`],
  [2, lua`${tableName}${place} = cap(${any})`],
  [1, lua`t[#t + 1] = cap((${any}) or 0)`],
  [1, lua`x, y = cap(${any}), ${any}`],
  [1, lua`n, m, x = ${number}, f(${list(short.any, 0, 3)})`],
  [1, lua`x, t.a, t = y, ${short.any}, ${table}`],
  [1, lua`local ${oneOf('n', 's', 'x', 't', 'f')} = cap(${any})`],
  [1, lua`local x, y = ${any}`],
  [4, lua`out(${list(any, 1, 3)})`],
  [1, lua`f(${list(any, 0, 2)})`],
  [1, lua`t:f(${short.any})`],
  [1, lua`do error(${errorValue()}${oneOf('', '', ', 0', ', 1', ', 2', ', 3')}) end`],
);

/** A table without `err` that no `pcall` catches ends redis-server 7.0. */
function errorValue(): Lua {
  return pick([4, short.string], [1, short.number], [1, oneOf('nil', 'true', '{err = "E own"}')]);
}

function compound(inner: Lua): Lua {
  const body = fc.array(inner, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n'));
  const anyFunction = pick(
    [3, lua`function(x, ...)\nfuel()\n${body}\nreturn ${list(any, 1, 2)}\nend`],
    [1, lua`function(...) fuel() ${inner} return f(${short.any}, ...) end`],
  );
  const names = oneOf('f', 'g', 'f', 't.f', 'u.f');
  return pick(
    [3, lua`if ${boolean} then\n${body}\nelseif ${boolean} then\n${inner}\nelse ${inner} end`],
    [1, lua`if ${any} then ${body} end`],
    [2, lua`for n = ${oneOf('1', '3', '-1', '0.5')}, ${bound} do\n${loopBody(inner)}\nend`],
    [1, lua`for x, y in ipairs(${table}) do\n${loopBody(inner)}\nend`],
    [1, lua`for x in ${any} do fuel() ${inner} end`],
    [1, lua`do local c = 0 for x, y in pairs(${table}) do c = c + 1 end out(c) end`],
    [1, lua`while fuel() and ${boolean} do\n${loopBody(inner)}\nend`],
    [1, lua`repeat local x = ${any}\n${inner}\nuntil fuel() and x == ${any}`],
    [1, lua`do\n${body}\nend`],
    [2, lua`${names} = ${anyFunction}`],
    [2, lua`local function f(x, y, ...)\nfuel()\n${body}\nreturn ${any} end`],
    [1, lua`function t.k:f(x, ...) fuel() ${inner} return self, x end`],
    [
      1,
      lua`local fs = {} for n = 1, 3 do local m = n fs[n] = function(...) fuel() m = m + 1 ${inner} return n, m end end out(fs[1](), fs[1](), fs[2]())`,
    ],
    [5, lua`out(pcall(function(...)\n${body}\nreturn ${list(any, 1, 2)} end, ${short.any}))`],
    [1, lua`out(xpcall(function(...)\n${body}\nend, function(e) return type(e), e end))`],
    [2, metatable(inner)],
    [2, coroutineOf(inner)],
  );
}

const bound = oneOf('3', '0', '5, 2', '-2, -1', '3, 0.5', '"2"', 'n % 5', 'x', '1, 0.3', '2, m');

function loopBody(inner: Lua): Lua {
  return pick(
    [3, lua`fuel() ${inner}`],
    [1, lua`fuel() ${inner} if ${boolean} then break end`],
    [1, lua`${inner} ${inner} break`],
  );
}

function metatable(inner: Lua): Lua {
  const binary = oneOf('add', 'sub', 'mul', 'div', 'mod', 'pow', 'concat', 'eq', 'lt', 'le');
  const handler = lua`function(x, y, ...) fuel() ${inner} return ${any} end`;
  const event = pick(
    [5, lua`__${binary} = ${handler}`],
    [3, lua`__${oneOf('index', 'newindex', 'call', 'unm', 'len')} = ${handler}`],
    [1, lua`__${oneOf('index', 'newindex')} = ${table}`],
    [1, lua`__tostring = function(...) fuel() return ${any} end`],
    [1, lua`__metatable = ${any}`],
  );
  const events = fc.array(event, { minLength: 1, maxLength: 4 }).map((all) => all.join(', '));
  return pick(
    [3, lua`${tableName} = setmetatable(${short.table}, {${events}})`],
    [1, lua`do local mt = {${events}} t, u = setmetatable({1}, mt), setmetatable({2}, mt) end`],
    [1, lua`x = getmetatable(${any})`],
  );
}

function coroutineOf(inner: Lua): Lua {
  const yields = lua`x = coroutine.yield(${list(short.any, 0, 2)})`;
  const body = fc
    .array(pick([1, inner], [2, yields]), { minLength: 1, maxLength: 3 })
    .map((lines) => lines.join('\n'));
  const create = (make: string) =>
    lua`coroutine.${make}(function(x, ...)\n${body}\nreturn ${any} end)`;
  const resume = lua`out(coroutine.resume(co, ${short.any}))`;
  return pick(
    [
      2,
      lua`do local co = ${create('create')}\n${resume}\n${resume}\nout(coroutine.status(co)) end`,
    ],
    [1, lua`do local co = ${create('wrap')}\nout(pcall(co, ${short.any}))\nout(pcall(co)) end`],
    [1, lua`for x in ${create('wrap')} do fuel() ${inner} end`],
  );
}

const once = pick([3, simple], [2, compound(simple)]);
const twice = pick([2, simple], [3, compound(once)]);
/** Most are caught, so that the program goes on behind them. */
export const statement: Lua = pick(
  [1, twice],
  [
    12,
    lua`out(pcall(function(...)\n${twice}\nreturn ${any} end, ${oneOf('n', 's', 't', '1, nil', 'nil, f')}))`,
  ],
);
