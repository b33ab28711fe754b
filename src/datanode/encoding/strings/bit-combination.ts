/**
 * Strings combined bit by bit into one, source after source: no source is kept, so that what is in
 * memory is the result and the one that is being read, however many there are. Others may have their
 * turn between two pieces of a long one.
 */

import { giveWay, type Slices } from '../steps/slices.ts';
import { type BitOperation, combineInto, invert, widened } from './bits.ts';

/** Bytes worked on between two pauses. */
const PIECE_BYTES = 524_288;

export class BitCombination {
  readonly #operation: BitOperation;
  /** Undefined: there was no source yet. Without what AND has left of zeros at the end. */
  #bytes: Buffer | undefined;
  /** Of the longest source. */
  #length = 0;

  constructor(operation: BitOperation) {
    this.#operation = operation;
  }

  /** Behind the end of a source all bits are zeros. `not` takes one. */
  *add(source: Buffer): Slices<void> {
    this.#length = Math.max(this.#length, source.length);
    if (source.length > PIECE_BYTES) yield* giveWay();
    if (this.#bytes !== undefined) this.#bytes = yield* this.#combined(this.#bytes, source);
    else this.#bytes = yield* this.#begun(source);
  }

  /** As long as the longest source. */
  result(): Buffer {
    const bytes = this.#bytes ?? Buffer.alloc(0);
    return bytes.length < this.#length ? widened(bytes, this.#length) : bytes;
  }

  *#begun(source: Buffer): Slices<Buffer> {
    const bytes = widened(source, 0);
    if (this.#operation === 'not') yield* inPieces(bytes.length, (piece) => invert(piece(bytes)));
    return bytes;
  }

  *#combined(bytes: Buffer, source: Buffer): Slices<Buffer> {
    const operation = this.#operation;
    const shared = Math.min(bytes.length, source.length);
    const grows = operation !== 'and' && source.length > shared;
    const into = grows ? widened(source, 0) : bytes;
    const other = grows ? bytes : source;
    yield* inPieces(shared, (piece) => combineInto(operation, piece(into), piece(other)));
    return operation === 'and' ? into.subarray(0, shared) : into;
  }
}

/** `each` is handed what cuts the same piece out of any buffer. */
function* inPieces(length: number, each: (piece: (bytes: Buffer) => Buffer) => void): Slices<void> {
  for (let at = 0; at < length; at += PIECE_BYTES) {
    each((bytes) => bytes.subarray(at, Math.min(length, at + PIECE_BYTES)));
    if (length > PIECE_BYTES) yield* giveWay();
  }
}
