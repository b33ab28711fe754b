import { describe, expect, test } from 'vitest';
import { LuaError, ScriptLimitError } from '../../../../src/datanode/lua/values/error.ts';
import { evaluate, readCases, runScript } from './scripts.ts';

describe('what Redis 7.0.15 answers', () => {
  test.each([
    ...readCases(import.meta.dirname, 'values.txt'),
    ...readCases(import.meta.dirname, 'language.txt'),
  ])('$source', ({ source, answer }) => {
    expect(evaluate(source)).toBe(answer);
  });
});

describe('what Redis 7.0.15 says of errors', () => {
  test.each(readCases(import.meta.dirname, 'errors.txt'))('$source', ({ source, answer }) => {
    expect(evaluate(source)).toBe(answer);
  });
});

test('an error that leaves the machine says where it was raised', () => {
  const { failure } = runScript('local x = 1\nlocal function f()\n  error("no", 0)\nend\nf()');
  expect(failure).toMatchObject({
    value: 'no',
    level: 0,
    position: { source: '@user_script', line: 3 },
  });
});

test('arguments of the script are its varargs', () => {
  expect(evaluate('local a, b = ... return {b, a, select("#", ...)}', { args: [1, 'x'] })).toBe(
    '["x",1,2]',
  );
});

describe('calls', () => {
  test('a hundred thousand tail calls need no room', () => {
    const source = 'local function f(n) if n == 0 then return "end" end return f(n - 1) end';
    const { values, bytes } = runScript(`${source} return f(100000)`);
    expect(values).toEqual(['end']);
    expect(bytes).toBeLessThan(10_000);
  });

  test('fifteen thousand calls within each other do, and end in an error beyond Lua’s limit', () => {
    const source = 'local function f(n) return n == 0 and 0 or 1 + f(n - 1) end';
    expect(evaluate(`${source} return f(15000)`)).toBe('15000');
    expect(evaluate(`${source} return {pcall(f, 30000)}`)).toBe(
      '[null,"user_script:1: stack overflow"]',
    );
  });

  test('a library’s function that calls others is in the midst of it', () => {
    expect(
      evaluate('local s = 0 local r = test.each(function(n) s = s + n end) return {s, r}'),
    ).toBe('[6,"done"]');
    expect(evaluate('test.each(function(n) error("at " .. n) end)')).toBe('user_script:1: at 1');
  });

  test('a million calls from a library to a library go on without a stack of the host', () => {
    const source = 'local n = 0 while n < 100000 do test.each(type) n = n + 1 end return n';
    expect(evaluate(source)).toBe('100000');
  });
});

describe('after an error', () => {
  test.each([
    [
      'calls of metamethods that it has ended are over',
      'local t = setmetatable({}, {__index = function() error("x") end}) local e for i = 1, 300 do e = select(2, pcall(function() return t.k end)) end return e',
      '"user_script:1: x"',
    ],
    [
      'variables keep their values',
      'local f pcall(function() local x = 1 f = function() return x end error("e") end) local function g() local a, b, c, d, e, h = 9, 9, 9, 9, 9, 9 local v = f() return v end local r = g() return r',
      '1',
    ],
    [
      'a coroutine does not go on',
      'local n = 0 coroutine.resume(coroutine.create(function() error("x") n = 1 end)) return n',
      '0',
    ],
    [
      'levels count calls that have ended in others',
      'local function f() error("x", 2) end local function g() return f() end g()',
      'x',
    ],
  ])('%s', (_, source, answer) => {
    expect(evaluate(source)).toBe(answer);
  });

  test('that there are too many coroutines within each other, all of them are over', () => {
    const source =
      'local function f(n) return coroutine.wrap(function() return n == 0 and 1 or f(n - 1) end)() end';
    expect(evaluate(`${source} return {f(150), select(2, pcall(f, 300))}`)).toContain(
      'C stack overflow',
    );
  });

  test('it has cost more than a few steps', () => {
    expect(runScript('for i = 1, 100 do pcall(error) end').steps).toBeGreaterThan(20_000);
  });
});

test('arguments that are missing are nil, whatever the registers held', () => {
  expect(
    evaluate(
      'local function f(a, b, c) return c end f(1, 2, 3) local r = f(1) return r == nil and "nil"',
    ),
  ).toBe('"nil"');
});

test.each([
  ['error(-0)', 'user_script:1: -0'],
  ['error(1 / 0)', 'user_script:1: inf'],
  ['error(1.5e300)', 'user_script:1: 1.5e+300'],
  [
    "local u = {s = 'x'} return (true and u.s or '') + 1",
    'attempt to perform arithmetic on a string value',
  ],
  [
    "local n, s = '1', '2' local function f() for x in {('' or 0), ((n .. s) or 0)} do end end f()",
    "attempt to call upvalue 's' (a table value)",
  ],
  ['return x [[long]]', "Script attempted to access nonexistent global variable 'x'"],
])('%s', (source, message) => {
  expect(evaluate(source)).toContain(message);
});

describe('the host', () => {
  const host = (request: unknown) => {
    const [what] = request as readonly unknown[];
    if (what === 'fail') throw new LuaError('the host says no');
    return ['answer to', String(what)];
  };

  test.each([
    ['return {test.ask("a")}', '["answer to","a"]'],
    ['return {pcall(test.ask, "a")}', '[1,"answer to","a"]'],
    ['return {select(2, pcall(test.ask, "fail"))}', '["the host says no"]'],
    ['test.ask("fail")', 'user_script:1: the host says no'],
    [
      'local t = setmetatable({}, {__index = function(t, k) return test.ask(k) end}) return t.x',
      '"answer to"',
    ],
    [
      'local f = coroutine.wrap(function() coroutine.yield(test.ask("b")) end) return {f()}',
      '["answer to","b"]',
    ],
    [
      'local ok, e = pcall(function() test.ask("fail") end) return {e, (test.ask("c"))}',
      '["user_script:1: the host says no","answer to"]',
    ],
    [
      'local ok, e = xpcall(function() error("x", 0) end, function(e) return select(2, test.ask(e)) end) return e',
      '"x"',
    ],
  ])('%s', (source, answer) => {
    expect(evaluate(source, { host })).toBe(answer);
  });
});

describe('limits', () => {
  test.each([
    'while true do end',
    'while true do pcall(function() while true do end end) end',
    'local function f() return f() end f()',
    'while true do pcall(error, "x") end',
    'xpcall(function() while true do end end, function() return 1 end)',
    'coroutine.wrap(function() while true do end end)()',
    'while true do test.each(type) end',
    'local t = setmetatable({}, {}) getmetatable(t).__index = function() while true do end end return t.x',
    'for i = 1, 1 / 0 do end',
    'repeat until false',
  ])('of steps: %s', (source) => {
    const { failure, steps } = runScript(source, { steps: 50_000 });
    expect(failure).toBeInstanceOf(ScriptLimitError);
    expect(steps).toBe(50_000);
  });

  test.each([
    'local s = "x" while true do s = s .. s end',
    'local t = {} while true do t[#t + 1] = {} end',
    'local t = {} for i = 1, 1e9 do t[i] = i end',
    'local t = {} for i = 1, 1e9 do t[-i] = i end',
    'local t while true do t = function() return t end end',
    'local t = {} while true do t[#t + 1] = coroutine.create(function() end) end',
    'local function f(...) return 1 + f(1, 2, 3, 4, 5, 6, 7, 8, ...) end f()',
    'while true do loadstring("return 1") end',
  ])('of bytes: %s', (source) => {
    const { failure } = runScript(source, { bytes: 1_000_000, steps: 100_000_000 });
    expect(failure).toBeInstanceOf(ScriptLimitError);
    expect(String(failure)).toContain('1000000 bytes');
  });

  test('a script ends at the step that is one too many, and not before', () => {
    const source = 'local s = 0 for i = 1, 100 do s = s + i end return s';
    const { steps } = runScript(source);
    expect(runScript(source, { steps }).values).toEqual([5050]);
    expect(runScript(source, { steps: steps - 1 }).failure).toBeInstanceOf(ScriptLimitError);
  });

  test('one call to a library ends within a bound of its own, however many there are', () => {
    const limits = { callSteps: 1_000 };
    const failureOf = (source: string) => runScript(source, limits).failure;
    for (const source of [
      'pcall(test.work, 1001)',
      'test.each(function() test.work(1001) end)',
      'coroutine.wrap(function() test.work(1001) end)()',
    ]) {
      expect(failureOf(source)).toBeInstanceOf(ScriptLimitError);
      expect(String(failureOf(source))).toContain('one call of the script to a library takes more');
    }
    // nothing of the bound is left behind what was caught, or behind what is over
    for (const source of [
      'for i = 1, 20 do pcall(select, 0) end for i = 1, 10000 do end',
      'for i = 1, 20 do test.work(999) end for i = 1, 10000 do end',
      'test.each(function() for i = 1, 10000 do end test.work(999) end)',
    ]) {
      expect(failureOf(source)).toBe(undefined);
    }
  });

  test('calls that are not over are charged for the frames that they keep', () => {
    const deep = 'local function f(n) if n > 0 then f(n - 1) end end ';
    const bytes = runScript(`${deep}f(1000)`).bytes - runScript(`${deep}f(0)`).bytes;
    expect(bytes).toBeGreaterThan(160 * 1000);
  });

  test('a power is charged as the work that it is', () => {
    const of = (operator: string) =>
      runScript(`local x = 2 for i = 1, 1000 do local y = x ${operator} 3 end`).steps;
    expect(of('^') - of('*')).toBe(16_000);
  });

  test('others have their turn in the midst of every kind of work', () => {
    const work = [
      'for i = 1, 100000 do end return 1',
      'for i = 1, 10000 do test.each(type) end return 1',
      'local f = coroutine.wrap(function() while true do coroutine.yield() end end) for i = 1, 20000 do f() end return 1',
      'local t = setmetatable({}, {__index = function() return 1 end}) for i = 1, 20000 do local x = t[i] end return 1',
    ];
    for (const source of work) {
      const { pauses, steps, values } = runScript(source, { pauseSteps: 1_000 });
      expect(values).toEqual([1]);
      expect(pauses).toBeGreaterThan(steps / 1_100 - 2);
    }
  });
});

describe('one run leaves nothing for the next', () => {
  test.each([
    'KEYS[1] = "mine" ARGV.x = 1',
    'pcall(rawset, _G, "leak", 1) pcall(function() leak = 1 end)',
    'pcall(rawset, string, "leak", 1) pcall(function() string.leak = 1 end)',
    'pcall(function() getmetatable("").__index = nil end)',
    'pcall(function() getmetatable("").leak = 1 end)',
    'pcall(function() getmetatable(_G).__index = nil end)',
    'pcall(setmetatable, _G, {}) pcall(setmetatable, string, {}) pcall(setmetatable, coroutine, {})',
    'pcall(rawset, getmetatable(_G), "__index", function() return 1 end)',
    'for k, v in pairs(_G) do if type(v) == "table" then pcall(rawset, v, "leak", 1) end end',
  ])('%s', (source) => {
    runScript(source);
    const look = `local function text(...) return tostring((...)) end
      return {#KEYS, text(ARGV.x), text(rawget(_G, "leak")), text(rawget(string, "leak")),
        ("x"):upper(), text(pcall(function() return leak end)), text(getmetatable(string)),
        text(getmetatable("").leak)}`;
    expect(evaluate(look)).toBe('[0,"nil","nil","nil","X","false","nil","nil"]');
  });
});
