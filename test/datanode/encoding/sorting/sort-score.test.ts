import { expect, test } from 'vitest';
import { sortScore } from '../../../../src/datanode/encoding/sorting/sort-score.ts';
import { cpuMsOf } from '../../../cpu-time.ts';
import { allTexts } from '../../all-texts.ts';

const score = (text: string) => sortScore(Buffer.from(text, 'latin1'));

test('what strtod uses up is a number', () => {
  const numbers: readonly (readonly [string, number])[] = [
    ['', 0],
    ['\0 what follows a zero byte is not seen', 0],
    ['12\0x', 12],
    [' \t\n\v\f\r7', 7],
    ['+2', 2],
    ['-.5', -0.5],
    ['5.', 5],
    ['1E+3', 1_000],
    ['1e-3', 0.001],
    ['0', 0],
    ['0e-9999', 0],
    ['inf', Number.POSITIVE_INFINITY],
    ['-InFiNiTy', Number.NEGATIVE_INFINITY],
    ['0x10', 16],
    ['-0X.8p1', -1],
    ['0x1.8', 1.5],
    ['0x1p-1022', 2 ** -1022],
    ['0x0p99999', 0],
    [`0x${'0'.repeat(300)}1`, 1],
    ['0x1p1023', 2 ** 1_023],
    ['9223372036854775807', 2 ** 63],
    ['2.2250738585072014e-308', 2 ** -1022],
  ];
  expect(numbers.map(([text]) => [text, score(text)])).toEqual(numbers);
});

test('what it leaves, or cannot represent, is none', () => {
  const texts = [' ', 'a', '1 ', '1x', '.', '+', '--1', '1e', '0x', '0xg', '0x.p1', 'nan', '-nan'];
  const outOfRange = ['1e400', '-1e400', '1e-400', '0x1p1024', '0x1p-2000', 'info'];
  for (const text of [...texts, ...outOfRange]) expect(score(text), text).toBeUndefined();
});

test('a million digits that are no number are told in one go', () => {
  const [decimal, hexadecimal] = ['1'.repeat(1_000_000), 'a'.repeat(1_000_000)];
  const texts = [`${decimal}x`, `.${decimal}x`, `${decimal}.${decimal}x`, `0x${hexadecimal}x`];
  const cpuMs = cpuMsOf(() => {
    for (const text of [...texts, `0x${hexadecimal}.${hexadecimal}x`, `1e${decimal}x`]) {
      expect(score(text)).toBeUndefined();
    }
  });
  expect(cpuMs).toBeLessThan(2_000);
});

test('the expressions accept what the ones that backtracked did', () => {
  const decimal = /^[ \t-\r]*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
  const hexadecimal =
    /^[ \t-\r]*([+-]?)0x(?=[0-9a-f]|\.[0-9a-f])([0-9a-f]*)\.?([0-9a-f]*)(?:p([+-]?\d+))?$/i;
  const others = allTexts('01.e+xp ', 5).filter((text) => {
    const wasNumber = text === '' || decimal.test(text) || hexadecimal.test(text);
    return (score(text) !== undefined) !== wasNumber;
  });
  expect(others).toEqual([]);
});
