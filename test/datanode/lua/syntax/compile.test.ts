import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compile } from '../../../../src/datanode/lua/syntax/compile.ts';
import { LuaSyntaxError } from '../../../../src/datanode/lua/syntax/syntax-error.ts';
import { readCases } from '../machine/scripts.ts';

/** The message, or undefined: it compiles. */
function messageOf(source: string, name?: string): string | undefined {
  try {
    compile(source, name);
    return undefined;
  } catch (failure) {
    if (failure instanceof LuaSyntaxError) return failure.message;
    throw failure;
  }
}

describe('what Redis 7.0.15 says of errors', () => {
  test.each(readCases(import.meta.dirname, 'errors.txt'))('$source', ({ source, answer }) => {
    expect(messageOf(source)).toBe(answer);
  });
});

const many = (text: string, count: number) => text.repeat(count);
const names = (count: number) => Array.from({ length: count }, (_, n) => `a${n}`).join(',');

describe('limits', () => {
  test.each([
    ['parentheses', (n: number) => `return ${many('(', n)}1${many(')', n)}`, 197, 'levels'],
    ['tables', (n: number) => `return ${many('{', n)}1${many('}', n)}`, 197, 'levels'],
    ['blocks', (n: number) => `${many('do ', n)}${many(' end', n)}`, 198, 'levels'],
    [
      'functions',
      (n: number) => `${many('return function() ', n)}${many(' end', n)}`,
      98,
      'levels',
    ],
    ['signs', (n: number) => `return ${many('- ', n)}1`, 197, 'levels'],
    [
      'local variables',
      (n: number) => `local ${names(n)}`,
      200,
      'has more than 200 local variables',
    ],
    ['upvalues', upvalues, 60, 'function at line 2 has more than 60 upvalues'],
    ['arguments', (n: number) => `f(${names(n)})`, 247, 'function or expression too complex'],
  ])('of %s', (_, source, most, message) => {
    expect(messageOf(source(most))).toBeUndefined();
    expect([1, 2, 3].map((more) => messageOf(source(most + more)) ?? '').join()).toContain(message);
    expect(messageOf(source(20_000))).toContain(message);
  });

  function upvalues(count: number): string {
    const all = Math.min(count, 200);
    return `local ${names(all)}\nreturn function() return ${names(all).replaceAll(',', '+')} end`;
  }

  test('long lists of jumps are not walked again for each', () => {
    const start = process.cpuUsage().user;
    expect(messageOf(`local a return ${many('a and ', 60_000)}a`)).toBeUndefined();
    expect(messageOf(`local a if a then ${many('elseif a then ', 40_000)}end`)).toBeUndefined();
    expect(process.cpuUsage(undefined).user - start).toBeLessThan(3_000_000);
  });
});

test.each([
  ['=name', 'name:1:'],
  ['@file.lua', 'file.lua:1:'],
  [`@${many('x', 100)}`, `...${many('x', 72)}:1:`],
  ['x y', '[string "x y"]:1:'],
  ['x y\nz', '[string "x y..."]:1:'],
])('a chunk called %j is shown as %j', (name, shown) => {
  expect(messageOf('x y', name)).toBe(`${shown} '=' expected near 'y'`);
});

describe('whatever the text, there is a prototype or a message', () => {
  const words =
    'and break do else elseif end false for function if in local nil not or repeat return then true until while a b c x 1 2.5 0x1f "s" \'t\' [[l]] [=[m]=] ... .. . , ; : :: = == ~= < <= > >= + - * / % ^ # ( ) { } [ ] -- --[[ ]] \n \\ @ $ \0 \xff';

  test('of bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        messageOf(Buffer.from(bytes).toString('latin1'));
      }),
      { numRuns: 1_000, seed: 2 },
    );
  });

  test('of words', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words.split(' ')), { maxLength: 60 }), (parts) => {
        messageOf(parts.join(' '));
      }),
      { numRuns: 3_000, seed: 3 },
    );
  });

  test('of a program with a part cut out', () => {
    const whole =
      'local t = {1, x = 2, [3] = function(a, ...) return ... end} for i = 1, #t do if t[i] then t.x = -t[i] ^ 2 elseif not t then break end end repeat local s = "a\\65" .. [[b]] until s:f(1){2}"3" return t, (t)';
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(20), (at, length) => {
        messageOf(whole.slice(0, at) + whole.slice(at + length));
      }),
      { numRuns: 1_000, seed: 4 },
    );
  });
});
