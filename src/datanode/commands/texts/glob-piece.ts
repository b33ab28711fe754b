/**
 * A part of a glob pattern without a star: where it stands in a text. Bytes as they are go through
 * Knuth, Morris and Pratt's way of looking for them, others keep in one bit for each token whether
 * the bytes before fit up to it (Baeza-Yates and Gonnet): neither looks at a byte of the text twice,
 * however the pattern repeats itself. What would is used for short pieces only: it needs no tables.
 */

export type Token =
  | { readonly kind: 'any' }
  | { readonly kind: 'byte'; readonly byte: number }
  | { readonly kind: 'class'; readonly bytes: ReadonlySet<number>; readonly negated: boolean };

/** What is made of a piece to look for it is made when it first is. */
export type Piece =
  | {
      readonly kind: 'bytes';
      readonly length: number;
      readonly bytes: Buffer;
      borders?: Int32Array;
    }
  | {
      readonly kind: 'tokens';
      readonly length: number;
      readonly tokens: readonly Token[];
      masks?: Uint32Array;
    };

/** Up to here a piece is tried at each byte of the text. */
const SHORT_MAX = 8;
const WORD_BITS = 32;
const BYTES = 256;

export function pieceOf(tokens: readonly Token[]): Piece {
  const { length } = tokens;
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at++) {
    const token = tokens[at]!;
    if (token.kind !== 'byte') return { kind: 'tokens', length, tokens };
    bytes[at] = token.byte;
  }
  return { kind: 'bytes', length, bytes };
}

/** Whether the piece stands at `at`, which leaves room for it. */
export function pieceFits(piece: Piece, text: Buffer, at: number): boolean {
  const { length } = piece;
  if (piece.kind === 'bytes') return piece.bytes.compare(text, at, at + length) === 0;
  return piece.tokens.every((token, number) => matchesByte(token, text[at + number]!));
}

/** Where the first place of the piece in `text` from `from` to `end` ends; -1: it has none. */
export function findPiece(piece: Piece, text: Buffer, from: number, end: number): number {
  if (piece.length > end - from) return -1;
  if (piece.length <= SHORT_MAX) return findShort(piece, text, from, end);
  if (piece.kind === 'tokens') {
    piece.masks ??= masksOf(piece.tokens);
    return findTokens(piece.masks, piece.length, text, from, end);
  }
  piece.borders ??= bordersOf(piece.bytes);
  return findBytes(piece.bytes, piece.borders, text, from, end);
}

function findShort(piece: Piece, text: Buffer, from: number, end: number): number {
  if (piece.kind === 'bytes') {
    const at = text.subarray(from, end).indexOf(piece.bytes);
    return at < 0 ? -1 : from + at + piece.length;
  }
  for (let at = from; at + piece.length <= end; at++) {
    if (pieceFits(piece, text, at)) return at + piece.length;
  }
  return -1;
}

function findBytes(
  bytes: Buffer,
  borders: Int32Array,
  text: Buffer,
  from: number,
  end: number,
): number {
  let fitting = 0;
  for (let at = from; at < end; at++) {
    const byte = text[at]!;
    while (fitting > 0 && bytes[fitting] !== byte) fitting = borders[fitting - 1]!;
    if (bytes[fitting] === byte) fitting++;
    if (fitting === bytes.length) return at + 1;
  }
  return -1;
}

/** For each beginning of `bytes`: how long the longest shorter one is that it ends with. */
function bordersOf(bytes: Buffer): Int32Array {
  const borders = new Int32Array(bytes.length);
  let length = 0;
  for (let at = 1; at < bytes.length; at++) {
    while (length > 0 && bytes[length] !== bytes[at]) length = borders[length - 1]!;
    if (bytes[length] === bytes[at]) length++;
    borders[at] = length;
  }
  return borders;
}

function findTokens(
  masks: Uint32Array,
  length: number,
  text: Buffer,
  from: number,
  end: number,
): number {
  const words = wordsOf(length);
  const fitting = new Uint32Array(words);
  const lastBit = 1 << ((length - 1) % WORD_BITS);
  for (let at = from; at < end; at++) {
    const mask = text[at]! * words;
    let carry = 1;
    for (let word = 0; word < words; word++) {
      const before = fitting[word]!;
      fitting[word] = ((before << 1) | carry) & masks[mask + word]!;
      carry = before >>> (WORD_BITS - 1);
    }
    if ((fitting[words - 1]! & lastBit) !== 0) return at + 1;
  }
  return -1;
}

/** For each byte the words of bits that say which tokens it fits. */
function masksOf(tokens: readonly Token[]): Uint32Array {
  const words = wordsOf(tokens.length);
  const masks = new Uint32Array(BYTES * words);
  const allow = (byte: number, number: number) => {
    masks[byte * words + Math.floor(number / WORD_BITS)]! |= 1 << (number % WORD_BITS);
  };
  for (const [number, token] of tokens.entries()) {
    if (token.kind === 'byte') allow(token.byte, number);
    else for (let byte = 0; byte < BYTES; byte++) if (matchesByte(token, byte)) allow(byte, number);
  }
  return masks;
}

function wordsOf(length: number): number {
  return Math.ceil(length / WORD_BITS);
}

function matchesByte(token: Token, byte: number): boolean {
  switch (token.kind) {
    case 'byte':
      return token.byte === byte;
    case 'class':
      return token.bytes.has(byte) !== token.negated;
    default:
      return true;
  }
}
