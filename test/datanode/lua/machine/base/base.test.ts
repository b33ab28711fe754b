import { describe, expect, test } from 'vitest';
import { evaluate, readCases, runScript } from '../scripts.ts';

describe('what Redis 7.0.15 answers', () => {
  test.each(readCases(import.meta.dirname, 'base.txt'))('$source', ({ source, answer }) => {
    expect(evaluate(source)).toBe(answer);
  });
});

test('there is what Redis has, and nothing else', () => {
  const source = `local found = "" for name in pairs(_G) do found = found .. " " .. name end return found`;
  const names = String(runScript(source).values[0]).trim().split(' ').sort();
  const ofRedis =
    '_G _VERSION assert collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring next pairs pcall rawequal rawget rawset select setmetatable string tonumber tostring type unpack xpcall';
  expect(names).toEqual([...ofRedis.split(' '), 'KEYS', 'ARGV', 'test'].sort());
});

test('a value without a text is shown by a number that is its own in this run', () => {
  const source =
    'local t, f = {}, type return {tostring(t), tostring(t), tostring({}), tostring(f)}';
  const first = evaluate(source);
  expect(first).toBe(
    '["table: 0x000000000001","table: 0x000000000001","table: 0x000000000002","function: 0x000000000003"]',
  );
  expect(evaluate(source)).toBe(first);
});

test('what a script may load is charged by its length', () => {
  const { steps } = runScript('return loadstring("return 1")()');
  const longer = runScript(`return loadstring("return 1 ${' '.repeat(1_000)}")()`);
  expect(longer.steps - steps).toBeGreaterThan(10_000);
});

test('results of unpack beyond what Lua has room for are refused before they are made', () => {
  const { steps, failure } = runScript('return unpack({}, 1, 1e8)');
  expect(String(failure)).toContain('too many results to unpack');
  expect(steps).toBeLessThan(1_000);
});
