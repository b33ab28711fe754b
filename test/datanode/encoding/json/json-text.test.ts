/** Texts and documents beside JavaScript's own JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import {
  combined,
  doubleText,
  jsonNumber,
} from '../../../../src/datanode/encoding/json/json-number.ts';
import { parseJson } from '../../../../src/datanode/encoding/json/json-parse.ts';
import { jsonText } from '../../../../src/datanode/encoding/json/json-text.ts';
import {
  Double,
  isSameJson,
  JsonError,
} from '../../../../src/datanode/encoding/json/json-value.ts';
import { cpuMsOf } from '../../../cpu-time.ts';
import { finished, parsed, textOf } from './at-once.ts';

/** Whether JavaScript takes the text for JSON, and what it makes of it. */
function own(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** No surrogate stands alone, and no number is beyond all numbers: of these JavaScript makes something. */
const isPlain = (text: string) =>
  !/\p{Surrogate}/u.test(text) && !/\\u[dD][89a-fA-F]|[eE]|\d{20}/.test(text);

test('a document survives as its text, as JavaScript reads it', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      fc.pre(!/\p{Surrogate}/u.test(text));
      const again = textOf(parsed(text));
      expect(JSON.parse(again)).toEqual(JSON.parse(text));
      // once written, nothing about it changes any more
      expect(textOf(parsed(again))).toBe(again);
    }),
    { numRuns: 300 },
  );
});

test('what JavaScript takes for JSON is taken, and nothing else', () => {
  const damaged = fc
    .tuple(
      fc.json({ maxDepth: 3 }),
      fc.nat(),
      fc.constantFrom(
        '',
        '"',
        '\\',
        ',',
        '}',
        '[',
        '0',
        '-',
        '.',
        ' ',
        '\n',
        '\t',
        'e',
        'null',
        '\u0001',
        ':',
      ),
    )
    .map(([text, at, patch]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + patch + text.slice(place + (at % 2));
    })
    .filter(isPlain);
  let [taken, refused] = [0, 0];
  fc.assert(
    fc.property(damaged, (text) => {
      const expected = own(text);
      if (expected === undefined) {
        refused++;
        expect(() => parsed(text), text).toThrow(JsonError);
      } else {
        taken++;
        expect(JSON.parse(textOf(parsed(text))), text).toEqual(expected.value);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(taken, refused)).toBeGreaterThan(100);
});

test.each([
  ['{"a":1 "b":2}', 'expected `,` or `}` at line 1 column 8'],
  ['[1,\n 2 3]', 'expected `,` or `]` at line 2 column 4'],
  ['"abc', 'EOF while parsing a string at line 1 column 5'],
  ['[', 'EOF while parsing a value at line 1 column 2'],
  ['"\\x"', 'invalid escape at line 1 column 4'],
  ['"\\ud83d"', 'lone surrogate in a string at line 1 column 8'],
  ['"\\ud83d\\u0041"', 'lone surrogate in a string at line 1 column 14'],
  ['nul', 'expected value at line 1 column 1'],
  ['1e999', 'number out of range at line 1 column 6'],
])('%j is refused: %s', (text, message) => {
  expect(() => parsed(text)).toThrow(message);
});

test('escapes are taken as JavaScript takes them, and no half of a pair', () => {
  const pieces = [
    '\\n',
    '\\u0041',
    '\\uD83D',
    '\\ude00',
    '\\u12',
    '\\x',
    '\\\\',
    '\\"',
    'é',
    '😀',
    '\t',
  ];
  let [taken, refused] = [0, 0];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 5 }), (drawn) => {
      const text = `["${drawn.join('')}"]`;
      const expected = (own(text)?.value as [string] | undefined)?.[0];
      if (expected !== undefined && !/\p{Surrogate}/u.test(expected)) {
        taken++;
        expect(parsed(text), text).toEqual([expected]);
      } else {
        refused++;
        expect(() => parsed(text), text).toThrow(JsonError);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(taken, refused)).toBeGreaterThan(100);
});

test.each([
  ['digits', '9'.repeat(12_000_000), 'number out of range', 1_000],
  ['escapes', `"${'\\n'.repeat(8_000_000)}"`, undefined, 500],
  ['escapes, of which the last is none', `"${'\\n'.repeat(8_000_000)}\\x"`, 'invalid escape', 500],
])('millions of %s are read in one go', (_, text, message, msMax) => {
  const bytes = Buffer.from(text);
  const read = () => finished(parseJson(bytes));
  const cpuMs = cpuMsOf(() => {
    if (message === undefined) read();
    else expect(read).toThrow(message);
  });
  // one by one they took 1,000 ms and more
  expect(cpuMs).toBeLessThan(msMax);
});

test('bytes that are no UTF-8 are refused', () => {
  expect(() => finished(parseJson(Buffer.from('"\xff"', 'latin1')))).toThrow('invalid UTF-8');
});

test('objects keep their names in order, whatever these are', () => {
  const text = '{"b":1,"10":2,"__proto__":{"x":3},"2":4,"constructor":5,"":6}';
  expect(textOf(parsed(text))).toBe(text);
  expect(textOf(parsed('{"a":1,"b":2,"a":3}'))).toBe('{"a":3,"b":2}');
});

test('a double is written in the shortest form that is the same double, with a point or an exponent', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = doubleText(value);
      expect(Number(text)).toBe(value);
      expect(text).toMatch(/[.e]/);
      expect(jsonNumber(text)).toEqual(new Double(value));
    }),
    { numRuns: 1_000 },
  );
  const shown = [0, -0, 1, 0.1, 1e15, 1e16, 1.5e16, 123e20, 1e-4, 1e-5, 1e-6, 1.25e-9].map(
    doubleText,
  );
  expect(shown).toEqual(
    [
      '0.0',
      '-0.0',
      '1.0',
      '0.1',
      '1000000000000000.0',
      '1e16',
      '1.5e16',
      '1.23e22',
      '0.0001',
    ].concat(['0.00001', '1e-6', '1.25e-9']),
  );
});

test('whole numbers stay exact up to 64 bits, and become doubles beyond', () => {
  expect(textOf(parsed('[9223372036854775807,18446744073709551615,18446744073709551616]'))).toBe(
    '[9223372036854775807,18446744073709551615,1.8446744073709552e19]',
  );
  expect(combined('add', 9_007_199_254_740_991, 2)).toBe(9_007_199_254_740_993n);
  expect(combined('add', 9_007_199_254_740_993n, -3)).toBe(9_007_199_254_740_990);
  expect(combined('multiply', 2n ** 62n, 2)).toEqual(new Double(2 ** 63));
  expect(combined('multiply', 3, new Double(0.5))).toEqual(new Double(1.5));
  expect(combined('multiply', new Double(1e308), 100)).toBeUndefined();
});

test('equal numbers are the same, however they are written', () => {
  expect(isSameJson(parsed('[1,{"a":2.0,"b":3}]'), parsed('[1.0,{"b":3,"a":2}]'))).toBe(true);
  expect(isSameJson(parsed('9007199254740993'), parsed('9007199254740992'))).toBe(false);
  expect(isSameJson(parsed('[1,2]'), parsed('[2,1]'))).toBe(false);
  expect(isSameJson(parsed('{"a":1}'), parsed('{"b":1}'))).toBe(false);
  expect(isSameJson(parsed('"1"'), parsed('1'))).toBe(false);
});

test('what is too deep or has too many values is refused, and what is just within is not', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  expect(textOf(parsed(nested(128)))).toBe(nested(128));
  expect(() => parsed(nested(129))).toThrow('recursion limit exceeded');
  const many = (values: number) => `[${'1,'.repeat(values - 2)}1]`;
  expect(parsed(many(limits.jsonValuesMax))).toHaveLength(limits.jsonValuesMax - 1);
  expect(() => parsed(many(limits.jsonValuesMax + 1))).toThrow('more than 262144 values');
});

test('a text is bounded while it is written', () => {
  const value = parsed('[[1,2],[3]]');
  const bounds = { values: 6, characters: 11, depth: 2 };
  expect(finished(jsonText(value, bounds))).toBe('[[1,2],[3]]');
  expect(() => finished(jsonText(value, { ...bounds, values: 5 }))).toThrow('more than 5 values');
  expect(() => finished(jsonText(value, { ...bounds, characters: 10 }))).toThrow('10 characters');
  expect(() => finished(jsonText(value, { ...bounds, depth: 1 }))).toThrow('recursion limit');
});

test('others get their turn in the midst of a large document', () => {
  const text = Buffer.from(`[${'{"a":[1,"x"]},'.repeat(10_000)}1]`);
  let pauses = 0;
  const value = finished(parseJson(text), () => pauses++);
  expect(pauses).toBeGreaterThan(40);
  pauses = 0;
  const bounds = { values: Infinity, characters: Infinity, depth: 9 };
  expect(finished(jsonText(value, bounds), () => pauses++)).toBe(text.toString());
  expect(pauses).toBeGreaterThan(40);
});
