/**
 * Says of the key of a record, or of a member of a collection, that it surely was never added, at
 * the price of 13 bits a key: a Bloom filter of which each key has one line of the cache (64
 * bytes). It grows by segments, each with a share of the keys and larger than the one before while
 * there is much memory left, so nothing is ever moved; who asks for a key that is not there asks
 * all of them, and each adds half a percent of wrong guesses.
 *
 * A record's key holds a slot and a hash of the whole user key, a member's its collection's version and
 * a hash of 64 bits: no other byte is looked at. Whoever
 * chooses keys that share those makes the filter guess wrong, and then the engine is asked as if there
 * were no filter; a question costs at most a line of each segment, whatever keys there are.
 */

import { limits } from '../../../common/limits.ts';
import { SPREAD } from '../../../common/spread.ts';
import {
  collectionHash,
  memberHashHigh,
  memberHashLow,
} from '../../encoding/records/element-key.ts';
import { isRecordKey, recordHash, recordSlot } from '../../encoding/records/key.ts';

/** Words of 32 bits of a block: what a key has. */
const BLOCK_WORDS = 16;
const BLOCK_BYTES = 64;
const KEYS_PER_BLOCK = 40;
/** Bits that a key sets, of the 512. */
const PROBES = 8;
/**
 * Of the first segment; and the last of those after which comes one four times as large. None is
 * made smaller than that because little memory is left.
 */
const FIRST_BYTES = 4_096;
const STEEP_BYTES = 262_144;
/** A large segment takes no more than this part of the memory that is left. */
const FREE_PARTS = 4;

/** What all filters of a node may take together. */
export class FilterMemory {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number = limits.keyFiltersBytes) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get left(): number {
    return this.#bytesMax - this.#bytes;
  }

  /** False: there is not so much left. */
  take(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false;
    this.#bytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/**
 * What has become of a key that was to be added. `new`: it is there now and surely was not before;
 * `held`: it, or one that is taken for it, was; `full`: there is no memory for it, and the filter says
 * too little from now on.
 */
export type Added = 'new' | 'held' | 'full';

export class KeyFilter {
  readonly #memory: FilterMemory;
  /** The newest is the last. */
  #segments: Uint32Array[] = [];
  /** Keys that the newest still takes. */
  #room = 0;
  #bytes = 0;
  #count = 0;

  constructor(memory: FilterMemory) {
    this.#memory = memory;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Of keys that were added and not taken for another. */
  get count(): number {
    return this.#count;
  }

  /** False: `key`, a record's or a member's, was never added. */
  mayHold(key: Buffer): boolean {
    const [hash, slot] = [hashOf(key), slotOf(key)];
    return this.#holds(blockOf(hash, slot), bitsOf(hash, slot));
  }

  add(key: Buffer): Added {
    const [hash, slot] = [hashOf(key), slotOf(key)];
    const block = blockOf(hash, slot);
    const bits = bitsOf(hash, slot);
    if (this.#holds(block, bits)) return 'held';
    if (this.#room === 0 && !this.#grow()) return 'full';
    set(this.#segments.at(-1)!, block, bits);
    this.#room--;
    this.#count++;
    return 'new';
  }

  /** Gives its memory back: it is empty again. */
  free(): void {
    this.#memory.give(this.#bytes);
    this.#segments = [];
    this.#room = 0;
    this.#bytes = 0;
    this.#count = 0;
  }

  #holds(block: number, bits: number): boolean {
    for (let at = this.#segments.length - 1; at >= 0; at--) {
      if (holds(this.#segments[at]!, block, bits)) return true;
    }
    return false;
  }

  #grow(): boolean {
    const last = this.#segments.at(-1)?.byteLength ?? 0;
    let bytes = last === 0 ? FIRST_BYTES : last * (last < STEEP_BYTES ? 4 : 2);
    // engines fill alike: one that took what is left would end the filters of the others
    while (bytes > STEEP_BYTES && bytes > this.#memory.left / FREE_PARTS) bytes /= 2;
    if (!this.#memory.take(bytes)) return false;
    this.#segments.push(new Uint32Array(bytes / 4));
    this.#bytes += bytes;
    this.#room = (bytes / BLOCK_BYTES) * KEYS_PER_BLOCK;
    return true;
  }
}

/** 32 bits of the hash that the key of a record or of a member holds of its own. */
export function hashOf(key: Buffer): number {
  return isRecordKey(key) ? recordHash(key) : memberHashHigh(key) ^ collectionHash(key);
}

/** What tells those apart that share a hash. */
function slotOf(key: Buffer): number {
  return isRecordKey(key) ? recordSlot(key) : memberHashLow(key);
}

/** Of a segment of 2ⁿ blocks it is the one at the number's last n bits. */
function blockOf(hash: number, slot: number): number {
  return mixed(hash ^ Math.imul(slot, SPREAD));
}

function bitsOf(hash: number, slot: number): number {
  return mixed(Math.imul(hash, SPREAD) + slot);
}

function holds(segment: Uint32Array, block: number, bits: number): boolean {
  const from = (block * BLOCK_WORDS) & (segment.length - 1);
  let left = bits;
  for (let probe = 0; probe < PROBES; probe++) {
    left = Math.imul(left, SPREAD);
    // the first four bits choose the word, the next five the bit
    if ((segment[from + (left >>> 28)]! & (1 << (left >>> 23))) === 0) return false;
  }
  return true;
}

function set(segment: Uint32Array, block: number, bits: number): void {
  const from = (block * BLOCK_WORDS) & (segment.length - 1);
  let left = bits;
  for (let probe = 0; probe < PROBES; probe++) {
    left = Math.imul(left, SPREAD);
    segment[from + (left >>> 28)]! |= 1 << (left >>> 23);
  }
}

/** The end of MurmurHash3: every bit depends on every bit. */
function mixed(number: number): number {
  let mixed = number ^ (number >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
