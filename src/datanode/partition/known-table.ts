/**
 * What a node remembers of single keys of its engines, and may forget at any time: a table of a fixed
 * size in sets of 64 bytes, one line of the cache each. A key may lie in two of them and goes where more
 * is free: so hardly any is lost before nine tenths are taken (with one set, a tenth of them would be by
 * then), and who comes to two full ones takes a place that is not empty.
 *
 * A place holds 64 bits of a keyed hash over engine and key, and two numbers more where the table has
 * such. A key is compared with those of sixteen places at most: it is taken for another once in 10¹⁸
 * questions (in 350,000 years of 100,000 a second), and nobody who chooses keys can bring it about.
 */
import { HalfSipHash } from '../../common/half-sip-hash.ts';
import type { Random } from '../../common/random.ts';
import { hashOf } from './key-filter.ts';

/** Words of 32 bits. */
const SET_WORDS = 16;
/** A longer one takes longer to hash than it is worth. */
const KEY_BYTES_MAX = 512;
/** Odd, and near the golden ratio of 2³²: its multiples are spread evenly. */
const SPREAD = 0x9e3779b1;

export class KnownTable {
  readonly #hash: HalfSipHash;
  readonly #words: number;
  readonly #placeWords: number;
  /** Made when there is something to remember. */
  #table: Int32Array | undefined;
  /** Where the sets begin that the key which was looked for last may lie in. */
  #one = 0;
  #other = 0;

  /** `bytes`: a power of two; `numbers`: whether two numbers are kept with each key. */
  constructor(random: Random, bytes: number, numbers: boolean) {
    this.#hash = new HalfSipHash(random.u32(), random.u32());
    this.#words = bytes / 4;
    this.#placeWords = numbers ? 4 : 2;
  }

  /** Where it is, for `number`; negative: it is not known. `key`: of a record or a member. */
  find(engine: number, key: Buffer): number {
    const table = this.#table;
    return table === undefined || key.length > KEY_BYTES_MAX ? -1 : this.#find(table, engine, key);
  }

  /** The first or the second number that is kept at a place. */
  number(at: number, which: 0 | 1): number {
    return this.#table![at + 2 + which]!;
  }

  /** With the numbers of a table that keeps such, in the place of those it had. */
  add(engine: number, key: Buffer, first = 0, second = 0): void {
    if (key.length > KEY_BYTES_MAX) return;
    this.#table ??= new Int32Array(this.#words);
    const table = this.#table;
    const known = this.#find(table, engine, key);
    const { low, high } = this.#hash;
    const at = known >= 0 ? known : this.#placeFor(table, high);
    table[at] = low;
    table[at + 1] = high;
    if (this.#placeWords === 2) return;
    table[at + 2] = first;
    table[at + 3] = second;
  }

  remove(engine: number, key: Buffer): void {
    const at = this.find(engine, key);
    if (at >= 0) this.#table!.fill(0, at, at + this.#placeWords);
  }

  /** Leaves the key's hash in `#hash` and its sets in `#one` and `#other`. */
  #find(table: Int32Array, engine: number, key: Buffer): number {
    this.#hash.hash(key, engine);
    const { low, high } = this.#hash;
    const spread = hashOf(key) ^ Math.imul(engine, SPREAD);
    this.#one = this.#setAt(spread ^ (spread >>> 15));
    this.#other = this.#setAt(Math.imul(spread, SPREAD) >>> 7);
    // an empty place is of a key that is not known
    if (low === 0 && high === 0) return -1;
    const at = this.#placeOf(table, this.#one, low, high);
    return at >= 0 ? at : this.#placeOf(table, this.#other, low, high);
  }

  /** Of the table it is the set at the number's last bits. */
  #setAt(number: number): number {
    return Math.imul(number, SET_WORDS) & (this.#words - 1);
  }

  /** Of the set that begins at `from` the first place with this hash; negative: none has it. */
  #placeOf(table: Int32Array, from: number, low: number, high: number): number {
    for (let at = from; at < from + SET_WORDS; at += this.#placeWords) {
      if (table[at] === low && table[at + 1] === high) return at;
    }
    return -1;
  }

  /** A free one in the set that has more of them; else some place, as `number` has it. */
  #placeFor(table: Int32Array, number: number): number {
    const free = this.#placeOf(table, this.#one, 0, 0);
    const otherFree = this.#placeOf(table, this.#other, 0, 0);
    if (free < 0 && otherFree < 0) return this.#one + (number & (SET_WORDS - this.#placeWords));
    if (free < 0 || otherFree < 0) return Math.max(free, otherFree);
    // places are taken from the first on
    return free - this.#one <= otherFree - this.#other ? free : otherFree;
  }
}
