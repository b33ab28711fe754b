/**
 * What a node remembers of single keys of its engines, and may forget at any time: tables in sets of
 * 64 bytes, one line of the cache each. A key may lie in two sets of a table and goes where more is free:
 * so hardly any is lost before nine tenths are taken (with one set, a tenth of them would be by then).
 * Then there is another table, as large as all before it, while there may be; who comes to full sets
 * after that takes a place that is not empty. Keys stay in the table they came to: to move them they
 * would have to be known.
 *
 * A place holds 64 bits of a keyed hash over engine and key, and two numbers more where the table has
 * such. A key is compared with those of 48 places at most: it is taken for another once in 4 · 10¹⁷
 * questions (in 100,000 years of 100,000 a second), and nobody who chooses keys can bring it about.
 */

import { HalfSipHash } from '../../../common/half-sip-hash.ts';
import type { Random } from '../../../common/random.ts';
import { SPREAD } from '../../../common/spread.ts';
import { hashOf } from './key-filter.ts';

/** Words of 32 bits. */
const SET_WORDS = 16;
/** A longer one takes longer to hash than it is worth. */
const KEY_BYTES_MAX = 512;
/** The first table is so much of all that there may be: then one as large, one of twice that, and so on. */
const FIRST_SHARE = 4;
/** Of a table's places: so many keys that found none are enough for another table. */
const LOST_SHARE = 64;

export class KnownTable {
  readonly #hash: HalfSipHash;
  readonly #wordsMax: number;
  readonly #placeWords: number;
  /** The newest is the first; made when there is something to remember. */
  readonly #tables: Int32Array[] = [];
  /** Places that became free in older tables. */
  #holes = 0;
  #words = 0;
  /** Keys that found no free place since the newest table was made. */
  #lost = 0;
  /** Of the key that was looked for last: the table it was found in, and what its sets are told by. */
  #found: Int32Array = NONE;
  #spread = 0;
  #otherSpread = 0;

  /** `bytes`, at most: a power of two; `numbers`: whether two numbers are kept with each key. */
  constructor(random: Random, bytes: number, numbers: boolean) {
    this.#hash = new HalfSipHash(random.u32(), random.u32());
    this.#wordsMax = bytes / 4;
    this.#placeWords = numbers ? 4 : 2;
  }

  /** Of memory. */
  get bytes(): number {
    return this.#words * 4;
  }

  /** Where it is, for `number`; negative: it is not known. `key`: of a record or a member. */
  find(engine: number, key: Buffer): number {
    if (this.#words === 0 || key.length > KEY_BYTES_MAX) return -1;
    this.#spreadOut(engine, key);
    return this.#find();
  }

  /** The first or the second number that is kept at a place that was found just now. */
  number(at: number, which: 0 | 1): number {
    return this.#found[at + 2 + which]!;
  }

  /**
   * With the numbers of a table that keeps such, in the place of those it had. `isNew`: it is not
   * there, and need not be looked for.
   */
  add(engine: number, key: Buffer, isNew: boolean, first = 0, second = 0): void {
    if (key.length > KEY_BYTES_MAX) return;
    if (this.#words === 0) this.#grow();
    this.#spreadOut(engine, key);
    const known = isNew ? -1 : this.#find();
    const { low, high } = this.#hash;
    const at = known >= 0 ? known : this.#placeFor(high);
    const table = this.#found;
    table[at] = low;
    table[at + 1] = high;
    if (this.#placeWords === 2) return;
    table[at + 2] = first;
    table[at + 3] = second;
  }

  remove(engine: number, key: Buffer): void {
    const at = this.find(engine, key);
    if (at < 0) return;
    this.#found.fill(0, at, at + this.#placeWords);
    if (this.#found !== this.#tables[0]) this.#holes++;
  }

  #grow(): void {
    const words = this.#words || Math.max(SET_WORDS, this.#wordsMax / FIRST_SHARE);
    this.#tables.unshift(new Int32Array(words));
    this.#words += words;
    this.#lost = 0;
  }

  /** The hash of a key, and where its sets are. */
  #spreadOut(engine: number, key: Buffer): void {
    this.#hash.hash(key, engine);
    const spread = hashOf(key) ^ Math.imul(engine, SPREAD);
    this.#spread = spread ^ (spread >>> 15);
    this.#otherSpread = Math.imul(spread, SPREAD) >>> 7;
  }

  #find(): number {
    const { low, high } = this.#hash;
    // an empty place is of a key that is not known
    if (low === 0 && high === 0) return -1;
    for (const table of this.#tables) {
      this.#found = table;
      const at = this.#placeOf(table, setOf(table, this.#spread), low, high);
      if (at >= 0) return at;
      const other = this.#placeOf(table, setOf(table, this.#otherSpread), low, high);
      if (other >= 0) return other;
    }
    return -1;
  }

  /** Of the set that begins at `from` the first place with this hash; negative: none has it. */
  #placeOf(table: Int32Array, from: number, low: number, high: number): number {
    for (let at = from; at < from + SET_WORDS; at += this.#placeWords) {
      if (table[at] === low && table[at + 1] === high) return at;
    }
    return -1;
  }

  /** A free one in some table, which is `#found` then; else some place, as `number` has it. */
  #placeFor(number: number): number {
    const [newest] = this.#tables as [Int32Array];
    this.#found = newest;
    const free = this.#freeIn(newest);
    if (free >= 0) return free;
    const hole = this.#hole();
    if (hole >= 0) return hole;
    const places = newest.length / this.#placeWords;
    if (++this.#lost > places / LOST_SHARE && this.#words < this.#wordsMax) {
      this.#grow();
      return this.#placeFor(number);
    }
    return setOf(newest, this.#spread) + (number & (SET_WORDS - this.#placeWords));
  }

  /** A free place in an older table, which is `#found` then; negative: none was found. */
  #hole(): number {
    for (let age = 1; this.#holes > 0 && age < this.#tables.length; age++) {
      const table = this.#tables[age]!;
      const free = this.#freeIn(table);
      if (free < 0) continue;
      this.#holes--;
      this.#found = table;
      return free;
    }
    return -1;
  }

  /** A free one in the set that has more of them; negative: both are full. */
  #freeIn(table: Int32Array): number {
    const [one, other] = [setOf(table, this.#spread), setOf(table, this.#otherSpread)];
    const free = this.#placeOf(table, one, 0, 0);
    const otherFree = this.#placeOf(table, other, 0, 0);
    if (free < 0 || otherFree < 0) return Math.max(free, otherFree);
    // places are taken from the first on
    return free - one <= otherFree - other ? free : otherFree;
  }
}

const NONE = new Int32Array(0);

/** Where the set of a table begins that is at the number's last bits. */
function setOf(table: Int32Array, number: number): number {
  return Math.imul(number, SET_WORDS) & (table.length - 1);
}
