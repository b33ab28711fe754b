/** Classes of bytes as C's own locale has them: `%a`, `%d`, and sets of them, as tables of 256 answers. */

/** For each byte 1 where it belongs to the class. */
export type ByteSet = Uint8Array;

type Test = (code: number) => boolean;

const isUpper: Test = (code) => code >= 65 && code <= 90;
const isLower: Test = (code) => code >= 97 && code <= 122;
const isDigit: Test = (code) => code >= 48 && code <= 57;
const isAlpha: Test = (code) => isUpper(code) || isLower(code);

/** By their lower case letter. */
const classes: Readonly<Record<string, Test>> = {
  a: isAlpha,
  c: (code) => code < 32 || code === 127,
  d: isDigit,
  l: isLower,
  p: (code) => code > 32 && code < 127 && !isAlpha(code) && !isDigit(code),
  s: (code) => code === 32 || (code >= 9 && code <= 13),
  u: isUpper,
  w: (code) => isAlpha(code) || isDigit(code),
  x: (code) => isDigit(code) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70),
  z: (code) => code === 0,
};

export function setOf(test: Test): ByteSet {
  return Uint8Array.from({ length: 256 }, (_, code) => (test(code) ? 1 : 0));
}

const sets = new Map<number, ByteSet>();
for (const [letter, test] of Object.entries(classes)) {
  sets.set(letter.charCodeAt(0), setOf(test));
  sets.set(
    letter.toUpperCase().charCodeAt(0),
    setOf((code) => !test(code)),
  );
}

export const ANY: ByteSet = setOf(() => true);

/** What `%` with this letter stands for; undefined: the letter itself. */
export function classOf(letter: number): ByteSet | undefined {
  return sets.get(letter);
}

export function isDigitCode(code: number): boolean {
  return isDigit(code);
}
