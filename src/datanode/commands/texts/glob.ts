/**
 * Redis's glob patterns over bytes: `*`, `?`, `[abc]`, `[^a-z]`, `\` before any of them. Compiled
 * once per command into what stands between the stars (`commands/texts/glob-piece`): each piece is looked
 * for behind the one before, from left to right, and never again, so that the time of a match is
 * bounded by the text alone, times a 32nd of a piece where that has `?` or classes.
 */
import { limits } from '../../../common/limits.ts';
import { ArgumentError } from '../rows/command.ts';
import { findPiece, type Piece, pieceFits, pieceOf, type Token } from './glob-piece.ts';

/** What stands before, between and behind the stars: one piece where there is none. */
export type Glob = readonly Piece[];

const [STAR, ANY, OPEN, CLOSE, NOT, DASH, ESCAPE] = [...Buffer.from('*?[]^-\\')] as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/** Undefined unless the pattern is too long to be looked for: an object is made of each of its bytes. */
export function patternRefusal({ length }: Buffer): string | undefined {
  if (length <= limits.channelBytesMax) return undefined;
  return `ERR a pattern of ${length} bytes is longer than ${limits.channelBytesMax}`;
}

/** As `parseGlob`, of an argument. Throws ArgumentError. */
export function patternArgument(pattern: Buffer): Glob {
  const refusal = patternRefusal(pattern);
  if (refusal !== undefined) throw new ArgumentError(refusal);
  return parseGlob(pattern);
}

export function parseGlob(pattern: Buffer): Glob {
  const pieces: Piece[] = [];
  let tokens: Token[] = [];
  let at = 0;
  while (at < pattern.length) {
    const byte = pattern[at]!;
    if (byte === STAR) {
      // stars in a row are one
      if (tokens.length > 0 || pieces.length === 0) pieces.push(pieceOf(tokens));
      tokens = [];
      at++;
    } else if (byte === ANY) {
      tokens.push({ kind: 'any' });
      at++;
    } else if (byte === OPEN) {
      const { token, end } = parseClass(pattern, at + 1);
      tokens.push(token);
      at = end;
    } else {
      if (byte === ESCAPE && at + 1 < pattern.length) at++;
      tokens.push({ kind: 'byte', byte: pattern[at]! });
      at++;
    }
  }
  pieces.push(pieceOf(tokens));
  return pieces;
}

/** A class that is never closed reaches to the end of the pattern. */
function parseClass(pattern: Buffer, start: number): { token: Token; end: number } {
  const negated = pattern[start] === NOT;
  const bytes = new Set<number>();
  let at = negated ? start + 1 : start;
  while (at < pattern.length && pattern[at] !== CLOSE) {
    if (pattern[at] === ESCAPE && at + 1 < pattern.length) {
      bytes.add(pattern[at + 1]!);
      at += 2;
    } else if (pattern[at + 1] === DASH && at + 2 < pattern.length) {
      const [a, b] = [pattern[at]!, pattern[at + 2]!];
      for (let byte = Math.min(a, b); byte <= Math.max(a, b); byte++) bytes.add(byte);
      at += 3;
    } else {
      bytes.add(pattern[at]!);
      at++;
    }
  }
  return { token: { kind: 'class', bytes, negated }, end: at + 1 };
}

/** Whether all of `text` is as the pattern says. */
export function matchesGlob(glob: Glob, text: Buffer): boolean {
  const first = glob[0]!;
  const last = glob.at(-1)!;
  if (glob.length === 1) return text.length === first.length && pieceFits(first, text, 0);
  const end = text.length - last.length;
  if (end < first.length || !pieceFits(first, text, 0) || !pieceFits(last, text, end)) return false;
  let at = first.length;
  for (let number = 1; number < glob.length - 1; number++) {
    at = findPiece(glob[number]!, text, at, end);
    if (at < 0) return false;
  }
  return true;
}

/** Whether there is but a star: all texts match. */
export function isAnything(glob: Glob): boolean {
  return glob.length === 2 && glob.every(({ length }) => length === 0);
}
