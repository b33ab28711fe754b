/**
 * Which records are strings without a deadline, as far as a node remembers: who overwrites or deletes
 * such a key need not read it. On a data set of a million keys LevelDB took a third of a SET's CPU for
 * that read: the read itself, and the compactions that LevelDB starts of tables through which a few
 * hundred reads have passed.
 *
 * One table of a fixed size for all engines of a node, in sets of eight places, one line of the cache
 * each. A key may lie in two of them and goes where more is free: so hardly any is lost before nine
 * tenths are taken (with one set, a tenth of them would be by then), and who comes to two full ones
 * takes a place that is not empty. So what is known may be forgotten at any time, and costs a read
 * then. A place holds 64 bits of a keyed hash over engine and key and is compared with sixteen at
 * most: one key is taken for another once in 10¹⁸ questions (in 350,000 years of 100,000 a second), and
 * nobody who chooses keys can bring it about.
 *
 * What is remembered is true of the newest state, as the one who writes sees it: changes are told
 * before they are handed to the engine, and the next batch begins when the one before is there.
 */
import { HalfSipHash } from '../../common/half-sip-hash.ts';
import { limits } from '../../common/limits.ts';
import type { Random } from '../../common/random.ts';
import { isPlainString } from '../encoding/header.ts';
import { isRecordKey, recordHash } from '../encoding/key.ts';
import type { BatchOperations } from '../engine/engine.ts';
import { lookedThrough } from './known-keys.ts';

/** Words of 32 bits: a place has two, a set eight places. */
const PLACE_WORDS = 2;
const SET_WORDS = 16;
/** A longer one takes longer to hash than it is worth. */
const KEY_BYTES_MAX = 512;
/** Odd, and near the golden ratio of 2³²: its multiples are spread evenly. */
const SPREAD = 0x9e3779b1;

/** Of a node. */
export class KnownStrings {
  readonly #hash: HalfSipHash;
  readonly #words: number;
  /** Made when there is something to remember. */
  #table: Int32Array | undefined;
  #engines = 0;
  /** Where the sets begin that the key which was looked for last may lie in. */
  #one = 0;
  #other = 0;

  /** `bytes`: a power of two. */
  constructor(random: Random, bytes: number = limits.knownStringsBytes) {
    this.#hash = new HalfSipHash(random.u32(), random.u32());
    this.#words = bytes / 4;
  }

  /** A number that no engine had before. */
  newEngine(): number {
    return ++this.#engines;
  }

  has(engine: number, key: Buffer): boolean {
    const table = this.#table;
    return (
      table !== undefined && key.length <= KEY_BYTES_MAX && this.#find(table, engine, key) >= 0
    );
  }

  add(engine: number, key: Buffer): void {
    if (key.length > KEY_BYTES_MAX) return;
    this.#table ??= new Int32Array(this.#words);
    const table = this.#table;
    if (this.#find(table, engine, key) >= 0) return;
    const { low, high } = this.#hash;
    const at = this.#placeFor(table, high);
    table[at] = low;
    table[at + 1] = high;
  }

  remove(engine: number, key: Buffer): void {
    const table = this.#table;
    if (table === undefined || key.length > KEY_BYTES_MAX) return;
    const at = this.#find(table, engine, key);
    if (at < 0) return;
    table[at] = 0;
    table[at + 1] = 0;
  }

  /** Where it is; negative: nowhere. Leaves its hash in `#hash` and its sets in `#one` and `#other`. */
  #find(table: Int32Array, engine: number, key: Buffer): number {
    this.#hash.hash(key, engine);
    const { low, high } = this.#hash;
    const spread = recordHash(key) ^ Math.imul(engine, SPREAD);
    this.#one = this.#setAt(spread ^ (spread >>> 15));
    this.#other = this.#setAt(Math.imul(spread, SPREAD) >>> 7);
    // an empty place is of a key that is not known
    if (low === 0 && high === 0) return -1;
    const at = placeOf(table, this.#one, low, high);
    return at >= 0 ? at : placeOf(table, this.#other, low, high);
  }

  /** Of the table it is the set at the number's last bits. */
  #setAt(number: number): number {
    return Math.imul(number, SET_WORDS) & (this.#words - 1);
  }

  /** A free one in the set that has more of them; else some place, as `number` has it. */
  #placeFor(table: Int32Array, number: number): number {
    const free = placeOf(table, this.#one, 0, 0);
    const otherFree = placeOf(table, this.#other, 0, 0);
    if (free < 0 && otherFree < 0) return this.#one + (number & (SET_WORDS - PLACE_WORDS));
    if (free < 0 || otherFree < 0) return Math.max(free, otherFree);
    // places are taken from the first on
    return free - this.#one <= otherFree - this.#other ? free : otherFree;
  }
}

/** Of the set that begins at `from` the first place that holds these numbers; negative: none does. */
function placeOf(table: Int32Array, from: number, low: number, high: number): number {
  for (let at = from; at < from + SET_WORDS; at += PLACE_WORDS) {
    if (table[at] === low && table[at + 1] === high) return at;
  }
  return -1;
}

/** What is known of one engine. */
export class EngineStrings {
  readonly #known: KnownStrings;
  #number: number;

  constructor(known: KnownStrings) {
    this.#known = known;
    this.#number = known.newEngine();
  }

  /** True: a string without a deadline is stored under the engine key `key`. */
  has(key: Buffer): boolean {
    return isRecordKey(key) && this.#known.has(this.#number, key);
  }

  /** To be told before the engine is, of every batch. */
  changing(operations: BatchOperations): void {
    const looked = lookedThrough(operations);
    if (looked === undefined || looked.length > limits.keyFilterChangesMax) return this.forget();
    for (const operation of looked) {
      const { type, key } = operation;
      if (!isRecordKey(key)) continue;
      if (type === 'put' && isPlainString(operation.value)) this.#known.add(this.#number, key);
      else this.#known.remove(this.#number, key);
    }
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#number = this.#known.newEngine();
  }
}
