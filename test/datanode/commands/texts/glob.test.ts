import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/common/random.ts';
import { matchesGlob, parseGlob } from '../../../../src/datanode/commands/texts/glob.ts';
import { cpuMsOf } from '../../../cpu-time.ts';
import { matchesPlainly } from './glob-reference.ts';

const matches = (pattern: string, text: string) =>
  matchesGlob(parseGlob(Buffer.from(pattern, 'latin1')), Buffer.from(text, 'latin1'));

test.each([
  ['', '', true],
  ['', 'a', false],
  ['*', '', true],
  ['**', 'ab', true],
  ['a*', 'a', true],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*ab*ab', 'xabab', true],
  ['*ab*ab', 'xaba', false],
  ['*abcdefghij*', 'abcdefghabcdefghij', true],
  ['*abcdefgh[a-j]?*z', 'abcdefgabcdefghijz', true],
  ['[^]*', 'a', true],
  ['[]*', 'a', false],
  [String.raw`\*`, '*', true],
])('%j on %j: %s', (pattern, text, expected) => {
  expect(matches(pattern, text)).toBe(expected);
});

/** Words of patterns; those with the text they are of repeat themselves. */
const WORDS = [
  'a',
  'a',
  'b',
  'aab',
  'ababab',
  '*',
  '*',
  '?',
  '[ab]',
  '[^b]',
  '[b',
  '\\a',
  '\\',
  ']',
];

test('random patterns match what they did with the plain matcher', () => {
  const random = seededRandom('globs');
  const some = (words: readonly string[], count: number) =>
    Array.from({ length: random.below(count) }, () => words[random.below(words.length)]).join('');
  const others: string[] = [];
  let found = 0;
  for (let round = 0; round < 60_000; round++) {
    const piece = some(WORDS, round % 3 === 0 ? 60 : 10);
    const pattern = round % 2 === 0 ? `*${piece}*` : piece;
    const text = some(['a', 'a', 'b', 'ab', 'aab'], round % 3 === 0 ? 200 : 20);
    const expected = matchesPlainly(Buffer.from(pattern), Buffer.from(text));
    if (expected) found++;
    if (matches(pattern, text) !== expected) others.push(`${pattern} ${text}`);
  }
  expect(others).toEqual([]);
  expect(found).toBeGreaterThan(10_000);
});

test.each([
  ['bytes of which the last is not there', `*${'a'.repeat(65_000)}b*`, 4_194_304],
  ['bytes of which the first is not there', `*b${'a'.repeat(65_000)}*`, 4_194_304],
  ['bytes behind an any', `*?${'a'.repeat(32_000)}b*`, 65_536],
  ['classes', `*${'[ab]'.repeat(16_000)}c*`, 65_536],
  ['short pieces', `${'*a?aaab'.repeat(8_000)}*`, 4_194_304],
])('%s take a moment', (_name, pattern, length) => {
  const glob = parseGlob(Buffer.from(pattern));
  const text = Buffer.alloc(length, 'a');
  expect(cpuMsOf(() => expect(matchesGlob(glob, text)).toBe(false))).toBeLessThan(2_000);
});
