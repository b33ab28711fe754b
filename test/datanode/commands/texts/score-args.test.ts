import { expect, test } from 'vitest';
import { doubleArgument, scoreBounds } from '../../../../src/datanode/commands/texts/score-args.ts';
import { cpuMsOf } from '../../../cpu-time.ts';
import { allTexts } from '../../all-texts.ts';

const isNumber = (text: string) => {
  try {
    doubleArgument(Buffer.from(text, 'latin1'));
    return true;
  } catch {
    return false;
  }
};

test('a million digits that are no number are told in one go', () => {
  const [decimal, hexadecimal] = ['1'.repeat(1_000_000), 'a'.repeat(1_000_000)];
  const texts = [`${decimal}x`, `.${decimal}x`, `${decimal}.${decimal}x`, `1e${decimal}x`];
  const cpuMs = cpuMsOf(() => {
    for (const text of [...texts, `0x${hexadecimal}x`, `0x${hexadecimal}.${hexadecimal}x`]) {
      expect(isNumber(text)).toBe(false);
      expect(() => scoreBounds(Buffer.from(`(${text}`), Buffer.from('0'))).toThrow('not a float');
    }
  });
  expect(cpuMs).toBeLessThan(2_000);
});

test('the expression accepts what the one that backtracked did', () => {
  const before =
    /^([+-]?)(?:(inf(?:inity)?)|0x(?:([\da-f]+)(?:\.([\da-f]*))?|\.([\da-f]+))(?:p([+-]?\d+))?|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)$/i;
  const others = allTexts('01.e+xp ', 5).filter((text) => isNumber(text) !== before.test(text));
  expect(others).toEqual([]);
});
