/** `testdata/doubles.txt`: bits of doubles, and what printf and strtod of GNU's C library make of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  scaleByPowerOfTwo,
  splitByPowerOfTwo,
} from '../../../../src/datanode/lua/values/binary.ts';
import {
  exponentDecimal,
  exponentText,
  fixedDecimal,
  generalDecimal,
} from '../../../../src/datanode/lua/values/decimal.ts';
import { formatNumber, parseNumber } from '../../../../src/datanode/lua/values/numbers.ts';

const rows = readFileSync(join(import.meta.dirname, 'testdata/doubles.txt'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split(' ') as [string, string, string]);

function ofBits(bits: string): number {
  const cell = Buffer.from(bits, 'hex');
  return cell.readDoubleBE(0);
}

function printf(spec: string, x: number): string {
  const [, full, precision = '6', kind] = /^%(#?)(?:\.(\d+))?([feg])$/.exec(spec)!;
  if (kind === 'f') return fixedDecimal(x, Number(precision));
  if (kind === 'g') return generalDecimal(x, Number(precision), full === '#');
  const [digits, exponent] = exponentDecimal(x, Number(precision));
  return digits + exponentText(exponent);
}

test('numbers are written as by printf', () => {
  const written = rows.filter(([, spec]) => spec.startsWith('%'));
  expect(written.length).toBeGreaterThan(500);
  for (const [bits, spec, text] of written) {
    expect(printf(spec, ofBits(bits)), `${spec} of ${bits}`).toBe(text);
    if (spec === '%.14g') expect(formatNumber(ofBits(bits))).toBe(text);
    if (spec === '%.17g') expect(parseNumber(text)).toBe(ofBits(bits));
  }
});

test('hexadecimals are read as by strtod', () => {
  const read = rows.filter(([, spec]) => spec === 'strtod');
  expect(read.length).toBeGreaterThan(200);
  for (const [bits, , text] of read) {
    expect(parseNumber(text), text).toBe(bits === 'nil' ? undefined : ofBits(bits));
  }
});

test('halves are rounded to even, whatever JavaScript does', () => {
  expect([0.5, 1.5, 2.5, 3.5].map((x) => fixedDecimal(x, 0))).toEqual(['0', '2', '2', '4']);
  expect([0.5, 8.5, 9.5].map((x) => exponentDecimal(x, 0))).toEqual([
    ['5', -1],
    ['8', 0],
    ['1', 1],
  ]);
  expect(fixedDecimal(0.125, 2)).toBe('0.12');
  expect(formatNumber(123456789012345)).toBe('1.2345678901234e+14');
  expect(formatNumber(1000000000000.25)).toBe('1000000000000.2');
});

test.each([
  [0, '0'],
  [-0, '-0'],
  [1e14, '1e+14'],
  [99999999999999, '99999999999999'],
  [-99999999999999, '-99999999999999'],
  [0.1, '0.1'],
  [-1 / 3, '-0.33333333333333'],
  [2 ** 53, '9.007199254741e+15'],
  [Infinity, 'inf'],
  [-Infinity, '-inf'],
  [Number.NaN, '-nan'],
  [5e-324, '4.9406564584125e-324'],
])('%d is written %s', (n, text) => {
  expect(formatNumber(n)).toBe(text);
});

test.each([
  ['10\0junk', 10],
  ['\0', undefined],
  [' \t\n\v\f\r0x10 ', 16],
  ['\xa01', undefined],
  ['-0x10', -16],
  ['-0', -0],
  ['0x', undefined],
  ['0x.', undefined],
  ['0x.8', 0.5],
  ['0x1p', undefined],
  ['0x1.fffffffffffff8p0', 2],
  ['0x0.8p-1074', 0],
  ['0x0.8000000000000000000001p-1074', 5e-324],
  ['1.', 1],
  ['.5', 0.5],
  ['.', undefined],
  ['5.e3', 5000],
  ['1e', undefined],
  ['1e400', Infinity],
  ['', undefined],
  ['-', undefined],
  ['- 1', undefined],
  ['+-1', undefined],
  ['+1', 1],
  ['1_0', undefined],
  ['0b1', undefined],
  ['inf', Infinity],
  ['-InFinity ', -Infinity],
  ['infinit', undefined],
  ['nan', Number.NaN],
  ['nan(12_a)', Number.NaN],
  ['nan(', undefined],
])('%j is read as %d', (text, n) => {
  expect(parseNumber(text)).toBe(n);
});

test('what 17 digits say is read back', () => {
  const anyDouble = fc.double({ noNaN: true });
  fc.assert(
    fc.property(anyDouble, (x) => {
      const size = Math.abs(x);
      const text = Number.isFinite(x) ? generalDecimal(size, 17) : 'inf';
      expect(parseNumber(x < 0 || Object.is(x, -0) ? `-${text}` : text)).toBe(x);
    }),
  );
});

test('a number is its mantissa times its power of two', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true }), (x) => {
      const [mantissa, exponent] = splitByPowerOfTwo(x);
      expect(scaleByPowerOfTwo(mantissa, exponent)).toBe(x);
      if (x === 0 || !Number.isFinite(x)) return;
      expect(Math.abs(mantissa)).toBeGreaterThanOrEqual(0.5);
      expect(Math.abs(mantissa)).toBeLessThan(1);
    }),
  );
});

test('a product below normal numbers is rounded once', () => {
  // Rounded to 53 bits first, it would be a half, and then go down to even.
  expect(scaleByPowerOfTwo(1 + 2 ** -52, -1075)).toBe(5e-324);
  expect(scaleByPowerOfTwo(1, -1075)).toBe(0);
  expect(scaleByPowerOfTwo(5e-324, 2097)).toBe(2 ** 1023);
  expect(scaleByPowerOfTwo(1, 1024)).toBe(Infinity);
  expect(scaleByPowerOfTwo(-1, 100_000)).toBe(-Infinity);
  expect(scaleByPowerOfTwo(-1, -100_000)).toBe(-0);
});
