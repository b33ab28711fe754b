/**
 * Strings combined bit by bit into one, source after source: no source is kept but the first, where the
 * others are compared with it, so that what is in memory is two of them and the one that is being read,
 * however many there are. Others may have their turn between two pieces of a long one.
 */

import { giveWay, type Slices } from '../steps/slices.ts';
import { type BitOperation, combineInto, invert, type PairOperation, widened } from './bits.ts';

/** Bytes worked on between two pauses. */
const PIECE_BYTES = 524_288;
const NOTHING = Buffer.alloc(0);

/** How a source joins what those before it came to. */
const joining = {
  and: 'and',
  or: 'or',
  xor: 'xor',
  not: 'xor',
  diff: 'andnot',
  diff1: 'or',
  andor: 'or',
  one: 'xor',
} as const satisfies Readonly<Record<BitOperation, PairOperation>>;

export class BitCombination {
  readonly #operation: BitOperation;
  /** Undefined: there was no source yet. Without what AND has left of zeros at the end. */
  #bytes: Buffer | undefined;
  /** `diff1`, `andor`: the first source. `one`: the bits that two sources had or more. */
  #beside: Buffer | undefined;
  /** Of the longest source. */
  #length = 0;

  constructor(operation: BitOperation) {
    this.#operation = operation;
  }

  /** Behind the end of a source all bits are zeros. `not` takes one. */
  *add(source: Buffer): Slices<void> {
    this.#length = Math.max(this.#length, source.length);
    if (source.length > PIECE_BYTES) yield* giveWay();
    if (this.#beside === undefined && isAgainstFirst(this.#operation)) {
      this.#beside = widened(source, 0);
      return;
    }
    if (this.#bytes === undefined) this.#bytes = yield* this.#begun(source);
    else {
      if (this.#operation === 'one') yield* this.#noteTwice(this.#bytes, source);
      this.#bytes = yield* combined(joining[this.#operation], this.#bytes, source);
    }
  }

  /** As long as the longest source. It takes no more of them. */
  *result(): Slices<Buffer> {
    let bytes = this.#bytes ?? NOTHING;
    if (this.#beside !== undefined) {
      const last = this.#operation === 'andor' ? 'and' : 'andnot';
      bytes = yield* combined(last, bytes, this.#beside);
    }
    return bytes.length < this.#length ? widened(bytes, this.#length) : bytes;
  }

  *#begun(source: Buffer): Slices<Buffer> {
    const bytes = widened(source, 0);
    if (this.#operation === 'not') yield* inPieces(bytes.length, (piece) => invert(piece(bytes)));
    return bytes;
  }

  /** What a source has that one before it had: no other makes a single one of it again. */
  *#noteTwice(bytes: Buffer, source: Buffer): Slices<void> {
    const shared = Math.min(bytes.length, source.length);
    let twice = this.#beside ?? NOTHING;
    if (twice.length < shared) twice = widened(twice, shared);
    this.#beside = twice;
    yield* inPieces(shared, (piece) => {
      const both = widened(piece(bytes), 0);
      combineInto('and', both, piece(source));
      combineInto('or', piece(twice), both);
    });
  }
}

function isAgainstFirst(operation: BitOperation): boolean {
  return operation === 'diff1' || operation === 'andor';
}

/** `bytes`, which is changed, or a longer one; `and` leaves out zeros at the end. */
function* combined(operation: PairOperation, bytes: Buffer, source: Buffer): Slices<Buffer> {
  const shared = Math.min(bytes.length, source.length);
  const grows = (operation === 'or' || operation === 'xor') && source.length > shared;
  const into = grows ? widened(source, 0) : bytes;
  const other = grows ? bytes : source;
  yield* inPieces(shared, (piece) => combineInto(operation, piece(into), piece(other)));
  return operation === 'and' ? into.subarray(0, shared) : into;
}

/** `each` is handed what cuts the same piece out of any buffer. */
function* inPieces(length: number, each: (piece: (bytes: Buffer) => Buffer) => void): Slices<void> {
  for (let at = 0; at < length; at += PIECE_BYTES) {
    each((bytes) => bytes.subarray(at, Math.min(length, at + PIECE_BYTES)));
    if (length > PIECE_BYTES) yield* giveWay();
  }
}
