/** Programs drawn by chance come to the same in every run, however often they are stopped. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Options, replyOf, runScript } from './scripts.ts';

const name = fc.constantFrom('a', 'b', 'c', 'd');
const { statement } = fc.letrec<{ expression: string; statement: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'e' },
    fc.oneof(name, fc.constantFrom('1', '2.5', '-3', '"x"', '"7"', 'nil', 'true', '{}', 'h', 'f')),
    fc
      .tuple(
        tie('expression'),
        fc.constantFrom('+', '-', '*', '/', '%', '..', '==', '<', '<=', 'and', 'or', '~='),
        tie('expression'),
      )
      .map((parts) => `(${parts.join(' ')})`),
    tie('expression').map((e) => `f(${e})`),
    tie('expression').map((e) => `tostring(${e})`),
    tie('expression').map((e) => `#tostring(${e})`),
    fc.tuple(tie('expression'), tie('expression')).map(([x, y]) => `({${x}, k = ${y}}).k`),
    tie('expression').map((e) => `(select(2, pcall(function() return ${e} end)))`),
    tie('expression').map((e) => `(test.ask(${e}))`),
    tie('expression').map((e) => `coroutine.wrap(function() coroutine.yield(${e}) end)()`),
  ),
  statement: fc.oneof(
    { maxDepth: 3, depthIdentifier: 's' },
    fc.tuple(name, tie('expression')).map(([n, e]) => `${n} = ${e}`),
    fc.tuple(name, tie('expression')).map(([n, e]) => `h[tostring(${n})] = ${e}`),
    tie('expression').map((e) => `pcall(function() a = ${e} end)`),
    fc
      .tuple(tie('expression'), tie('statement'), tie('statement'))
      .map(([e, x, y]) => `if ${e} then ${x} else ${y} end`),
    tie('statement').map((s) => `for i = 1, 5 do ${s} end`),
    tie('statement').map((s) => `for k, v in pairs(h) do ${s} break end`),
    tie('statement').map((s) => `pcall(test.each, function(n) ${s} end)`),
    fc.tuple(tie('statement'), tie('statement')).map(([x, y]) => `${x} ${y}`),
  ),
}));

const program = fc.array(statement, { minLength: 1, maxLength: 8 }).map(
  (statements) => `local a, b, c, d, h = 1, "s", {}, nil, {}
local mt = {__index = function(t, k) return k end, __add = function(x, y) return 5 end,
  __concat = function(x, y) return "cat" end, __lt = function() return true end}
setmetatable(c, mt)
local function f(x) return x and x or a end
${statements.join('\n')}
local out = {tostring(a), tostring(b), tostring(c), tostring(d)}
for k, v in pairs(h) do out[#out + 1] = k out[#out + 1] = tostring(v) end
return out`,
);

function outcomeOf(source: string, options: Options) {
  const host = (request: unknown) => [(request as readonly unknown[]).length];
  const { values, failure, steps, bytes } = runScript(source, { ...options, host });
  const what = failure === undefined ? replyOf(values[0]) : String(failure);
  return { what, steps, bytes };
}

describe('the same program', () => {
  test('comes to the same, with the same steps and bytes, whatever the pauses', () => {
    fc.assert(
      fc.property(program, fc.integer({ min: 1, max: 50 }), (source, pauseSteps) => {
        const whole = outcomeOf(source, { pauseSteps: 1e9, steps: 20_000 });
        expect(outcomeOf(source, { pauseSteps, steps: 20_000 })).toEqual(whole);
      }),
      { numRuns: 400, seed: 7 },
    );
  });

  test('ends at any limit as at one step less or more', () => {
    fc.assert(
      fc.property(program, fc.integer({ min: 1, max: 300 }), (source, steps) => {
        const one = outcomeOf(source, { pauseSteps: 7, steps });
        expect(one.steps).toBeLessThanOrEqual(steps);
        expect(outcomeOf(source, { pauseSteps: 1_000, steps })).toEqual(one);
      }),
      { numRuns: 200, seed: 8 },
    );
  });
});
