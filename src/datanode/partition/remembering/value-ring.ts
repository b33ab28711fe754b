/**
 * A ring of memory for values by their keys, of all engines of a node: what is kept goes to its head and
 * what came first leaves at its tail. A value is found by 64 bits of a keyed hash over engine and key,
 * as in `known-table.ts`: it is taken for another's once in 10¹⁸ questions, and its seal would tell.
 */
import { viewIn } from '../../../common/bytes.ts';
import { HalfSipHash } from '../../../common/half-sip-hash.ts';
import type { Random } from '../../../common/random.ts';

/**
 * An entry of the ring, in words of 32 bits: the hash of its key (two), its length in bytes, then the
 * value, which begins at a word.
 */
const HEADER_WORDS = 3;
/** The index has sets of 64 bytes, one line of the cache each: eight places of two words. */
const SET_WORDS = 16;
const PLACE_WORDS = 2;
/** Of the ring's bytes, those of the index: a place for each entry of 64 bytes. */
const INDEX_SHARE = 8;
/** Copies of values are cut from pieces of memory of this size, as Buffers' own are. */
const PIECE_BYTES = 16 * 1024;
/** A longer value is copied by the C library. */
const WORDS_BY_HAND = 64;

const NONE = new Int32Array(0);
const NO_BYTES = new Uint8Array(0);

/** Of a node. */
export class ValueRing {
  readonly #hash: HalfSipHash;
  readonly #bytesMax: number;
  /** Made when there is something to keep. */
  #ring: Int32Array = NONE;
  #bytes: Uint8Array = NO_BYTES;
  /** Places: the second word of the hash, and where in the ring the entry begins, counted from 1. */
  #index: Int32Array = NONE;
  /** Where the next entry begins, and where the oldest does. */
  #head = 0;
  #tail = 0;
  /** Words behind it are not used: the next entry was too long for them. */
  #end = 0;
  /** Words between tail and head. */
  #used = 0;
  /** Words that entries have taken since the beginning. */
  #taken = 0;
  /** What copies are cut from, its memory, and where the next one begins. */
  #piece: Int32Array = NONE;
  #memory: ArrayBufferLike = NONE.buffer;
  #pieceAt = 0;
  #engines = 0;

  /** `bytesMax`: of values and their headers, a power of two. */
  constructor(random: Random, bytesMax: number) {
    this.#hash = new HalfSipHash(random.u32(), random.u32());
    this.#bytesMax = bytesMax;
  }

  /** A number that no engine had before. */
  newEngine(): number {
    return ++this.#engines;
  }

  /** Grows by all that is kept. */
  get takenWords(): number {
    return this.#taken;
  }

  /** After so many words more, nothing is left of what there is. */
  get roundWords(): number {
    return this.#bytesMax / 4;
  }

  /** A copy of what is kept of `key`; undefined: nothing is. */
  get(engine: number, key: Buffer): Buffer | undefined {
    const place = this.#placeOf(engine, key);
    if (place < 0) return undefined;
    const at = this.#index[place + 1]! - 1;
    return this.#copyOf(at + HEADER_WORDS, this.#ring[at + 2]!);
  }

  /**
   * Kept in the place of what may be kept of `key`; not if it takes more than a quarter of the ring, so
   * that what makes room for it never is all there is.
   */
  keep(engine: number, key: Buffer, value: Buffer): void {
    const words = wordsFor(value.length);
    if (words * 4 > this.roundWords) return;
    if (this.#ring === NONE) this.#begin();
    this.remove(engine, key);
    const { low, high } = this.#hash;
    this.#makeRoom(words);
    const at = this.#head;
    this.#ring[at] = low;
    this.#ring[at + 1] = high;
    this.#ring[at + 2] = value.length;
    this.#bytes.set(value, (at + HEADER_WORDS) * 4);
    this.#head = at + words;
    this.#used += words;
    this.#taken += words;
    const place = this.#freePlace(low, high);
    this.#index[place] = high;
    this.#index[place + 1] = at + 1;
  }

  remove(engine: number, key: Buffer): void {
    const place = this.#placeOf(engine, key);
    if (place >= 0) this.#index[place + 1] = 0;
  }

  #begin(): void {
    this.#ring = new Int32Array(this.#bytesMax / 4);
    this.#bytes = new Uint8Array(this.#ring.buffer);
    this.#end = this.#ring.length;
    this.#index = new Int32Array(this.#bytesMax / INDEX_SHARE / 4);
  }

  /** Of `key`'s entry; negative: it has none. The hash is that of the key then. */
  #placeOf(engine: number, key: Buffer): number {
    this.#hash.hash(key, engine);
    const { low, high } = this.#hash;
    const index = this.#index;
    const from = setOf(index, low);
    for (let place = from; place < from + SET_WORDS; place += PLACE_WORDS) {
      if (index[place] !== high) continue;
      const at = index[place + 1]!;
      if (at !== 0 && this.#ring[at - 1] === low) return place;
    }
    return -1;
  }

  /** An empty one of the key's set, else some place of it. */
  #freePlace(low: number, high: number): number {
    const index = this.#index;
    const from = setOf(index, low);
    for (let place = from; place < from + SET_WORDS; place += PLACE_WORDS) {
      if (index[place + 1] === 0) return place;
    }
    return from + (high & (SET_WORDS - PLACE_WORDS));
  }

  /** So that the next entry of `words` words can begin at the head. */
  #makeRoom(words: number): void {
    if (this.#head + words > this.#ring.length) {
      while (this.#used > 0 && this.#tail >= this.#head) this.#leave();
      this.#end = this.#head;
      this.#head = 0;
    }
    while (this.#used > 0 && this.#tail >= this.#head && this.#tail < this.#head + words)
      this.#leave();
  }

  /** The oldest goes. */
  #leave(): void {
    const at = this.#tail;
    const ring = this.#ring;
    const [low, high, length] = [ring[at]!, ring[at + 1]!, ring[at + 2]!];
    const index = this.#index;
    const from = setOf(index, low);
    for (let place = from; place < from + SET_WORDS; place += PLACE_WORDS) {
      if (index[place] === high && index[place + 1] === at + 1) index[place + 1] = 0;
    }
    const words = wordsFor(length);
    this.#used -= words;
    this.#tail = at + words;
    if (this.#tail === this.#end) {
      this.#tail = 0;
      this.#end = ring.length;
    }
  }

  #copyOf(word: number, length: number): Buffer {
    const words = (length + 3) >>> 2;
    if (this.#pieceAt + words > this.#piece.length) {
      this.#piece = new Int32Array(PIECE_BYTES / 4);
      this.#memory = this.#piece.buffer;
      this.#pieceAt = 0;
    }
    const piece = this.#piece;
    const from = this.#pieceAt;
    this.#pieceAt += words;
    if (words > WORDS_BY_HAND) piece.set(this.#ring.subarray(word, word + words), from);
    else for (let at = 0; at < words; at++) piece[from + at] = this.#ring[word + at]!;
    return viewIn(this.#memory, from * 4, 0, length);
  }
}

function wordsFor(length: number): number {
  return HEADER_WORDS + ((length + 3) >>> 2);
}

/** Where the set begins that a hash leads to. */
function setOf(index: Int32Array, low: number): number {
  return Math.imul(low, SET_WORDS) & (index.length - 1);
}
