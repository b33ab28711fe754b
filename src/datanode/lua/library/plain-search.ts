/**
 * Where a piece first stands in a text. V8's own search may look at every byte of a long piece for every
 * byte of the text; this one (Knuth, Morris and Pratt) looks at each byte twice at the most.
 */
import type { Meter } from '../values/function.ts';

/** Up to here V8's search is taken, and charged for its worst. */
const SHORT = 32;

/** −1: nowhere from `start` on. */
export function searchPlain(text: string, piece: string, start: number, meter: Meter): number {
  const length = text.length - start;
  if (piece.length > length) return -1;
  if (piece.length <= SHORT) {
    meter.steps(Math.floor((length * piece.length) / 16) + 1);
    return text.indexOf(piece, start);
  }
  meter.steps(Math.floor(length / 2) + piece.length);
  meter.bytes(4 * piece.length);
  return searchLong(text, piece, start);
}

function searchLong(text: string, piece: string, start: number): number {
  const borders = bordersOf(piece);
  let matched = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    while (matched > 0 && piece.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (piece.charCodeAt(matched) === code) matched++;
    if (matched === piece.length) return at - matched + 1;
  }
  return -1;
}

/** For each beginning of the piece, how much of it it also ends with. */
function bordersOf(piece: string): Int32Array {
  const borders = new Int32Array(piece.length);
  let matched = 0;
  for (let at = 1; at < piece.length; at++) {
    const code = piece.charCodeAt(at);
    while (matched > 0 && piece.charCodeAt(matched) !== code) matched = borders[matched - 1]!;
    if (piece.charCodeAt(matched) === code) matched++;
    borders[at] = matched;
  }
  return borders;
}
