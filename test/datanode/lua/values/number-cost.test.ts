/** Texts that are nearly numbers: to see that they are none takes no more than a look at each character. */
import { expect, test } from 'vitest';
import { parseNumber } from '../../../../src/datanode/lua/values/numbers.ts';
import { cpuMsOf } from '../../../cpu-time.ts';

/** A second of it would be 10 µs for each character. */
const CPU_MS_MAX = 1_000;
const LENGTH = 100_000;

test.each([
  ['digits', `${'0'.repeat(LENGTH)}x`],
  ['digits around a point', `${'1'.repeat(LENGTH)}.${'1'.repeat(LENGTH)}x`],
  ['hexadecimal digits', `0x${'f'.repeat(LENGTH)}x`],
  ['digits of an exponent', `1e${'1'.repeat(LENGTH)}x`],
  ['blanks', `${' '.repeat(LENGTH)}x${' '.repeat(LENGTH)}`],
])('what is no number for all its %s is refused in time', (_what, text) => {
  const ms = cpuMsOf(() => expect(parseNumber(text)).toBeUndefined());
  expect(ms).toBeLessThan(CPU_MS_MAX);
});
