/** Words that make commands meet: few keys, few values, and arguments that are slightly wrong. */
import fc from 'fast-check';

export const key = fc.constantFrom('a', 'b', 'c', '{t}1', '{t}2');
export const member = fc.constantFrom(
  'a',
  'b',
  'c',
  'd',
  '1',
  '2',
  '-3',
  '',
  'héllo',
  'x'.repeat(70),
);
export const integerWord = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: -12, max: 12 }).map(String) },
  fc.constantFrom('9223372036854775807', '-9223372036854775808', '9223372036854775808', '1.5'),
  fc.constantFrom('', 'abc', ' 1', '1 ', '+1', '01', '-0'),
);
export const doubleWord = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: -40, max: 40 }).map((value) => String(value / 4)) },
  fc.constantFrom('inf', '-inf', '+inf', 'nan', '1e3', '1e400', '-0', '0.1', '3.0', '1e-7'),
  fc.constantFrom('', 'abc', '1 ', '0x10', '0X.8P1', '-0x1p-2', '0x', '0x1p', 'infinity'),
);

/** One of the words as it is, in upper case, or misspelt. */
export function option(...words: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...words) },
    fc.constantFrom(...words.map((word) => word.toUpperCase())),
    { weight: 1, arbitrary: fc.constant('nonsense') },
  );
}

/** A command of fixed words and arbitraries. */
export function words(
  ...parts: readonly (string | fc.Arbitrary<string>)[]
): fc.Arbitrary<string[]> {
  return fc.tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)));
}

/** The same with up to `maxMore` further words. */
export function wordsAndMore(
  parts: readonly (string | fc.Arbitrary<string>)[],
  more: fc.Arbitrary<string>,
  maxMore = 4,
): fc.Arbitrary<string[]> {
  return fc
    .tuple(words(...parts), fc.array(more, { maxLength: maxMore }))
    .map(([first, rest]) => [...first, ...rest]);
}

const scanOption = fc.oneof(
  fc.tuple(option('match'), fc.constantFrom('*', 'a*', '[ab]', 'x', '')),
  fc.tuple(option('count'), fc.constantFrom('1000', '1000', '0', '-1', 'x')),
  option('match', 'count').map((text) => [text]),
);
const cursor = fc.constantFrom('0', '0', '0', '', '00', 'x', '99999999999999999999', '1.5');

/** HSCAN or SSCAN, in one step: where a cursor stops in between is each server's own. */
export function wholeScan(command: string): fc.Arbitrary<string[]> {
  return fc
    .tuple(words(command, key, cursor), fc.array(scanOption, { maxLength: 2 }))
    .map(([line, options]) => [...line, ...options.flat()])
    .map((line) => (line.some((text) => /count/i.test(text)) ? line : [...line, 'COUNT', '1000']));
}
