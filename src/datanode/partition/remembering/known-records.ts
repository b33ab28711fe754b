/**
 * What is stored under single keys, as far as a node remembers it and it is little: who replaces or
 * deletes such a key need not read it. On a data set of a million keys LevelDB took a third of a SET's
 * CPU for that read: the read itself, and the compactions that LevelDB starts of tables through which a
 * few hundred reads have passed.
 *
 *   - that there is a string without a deadline, or a field of a hash without one (8 bytes each)
 *   - a member of a set: all there is to know of it (8 bytes)
 *   - the score of a member of a sorted set, a string that is a whole number (16 bytes)
 *   - what was written last of sessions (`known-sessions.ts`)
 *
 * What is forgotten costs a read. What is remembered is true of the newest state, as the one who writes
 * sees it: changes are told before they are handed to the engine, and the next batch begins when the one
 * before is there. Elements of a collection that is made by a batch may be left out.
 */
import { limits } from '../../../common/limits.ts';
import type { Random } from '../../../common/random.ts';
import { isMemberKey } from '../../encoding/records/element-key.ts';
import { isPlainString, plainInteger, valueOfInteger } from '../../encoding/records/header.ts';
import { isRecordKey } from '../../encoding/records/key.ts';
import { CRC_BYTES } from '../../encoding/records/record.ts';
import { tags } from '../../encoding/records/tags.ts';
import { isSessionKey } from '../../encoding/sessions/sessions.ts';
import type { BatchOperation, BatchOperations } from '../../engine/engine.ts';
import { lookedThrough } from './known-keys.ts';
import { KnownSessions } from './known-sessions.ts';
import { KnownTable } from './known-table.ts';

const MEMBER = Buffer.from([0]);
const SCORE_BYTES = 9;

/** Of a node. */
export class KnownRecords {
  /** Of which it is known what they are, or all there is to know. */
  readonly plain: KnownTable;
  /** With the halves of a double. */
  readonly numbers: KnownTable;
  #engines = 0;

  /** `bytes` of all that is remembered: three times a power of two. */
  constructor(random: Random, bytes: number = limits.knownRecordsBytes) {
    this.plain = new KnownTable(random, (bytes / 3) * 2, false);
    this.numbers = new KnownTable(random, bytes / 3, true);
  }

  /** A number that no engine had before. */
  newEngine(): number {
    return ++this.#engines;
  }
}

/** What is known of one engine. */
export class EngineRecords {
  readonly #plain: KnownTable;
  readonly #numbers: KnownTable;
  readonly #known: KnownRecords;
  readonly #sessions = new KnownSessions();
  readonly #double = Buffer.alloc(8);
  #engine: number;
  /** Some string of this engine is known as a number: else none has to be looked for. */
  #hasIntegers = false;

  constructor(known: KnownRecords) {
    this.#known = known;
    this.#plain = known.plain;
    this.#numbers = known.numbers;
    this.#engine = known.newEngine();
  }

  /** True: a string, or the field of a hash, without a deadline is stored under the engine key `key`. */
  holdsPlain(key: Buffer): boolean {
    if (key[0] !== tags.key && key[0] !== tags.hashField) return false;
    return this.#plain.find(this.#engine, key) >= 0;
  }

  /** What is stored under `key`, as it was before it was sealed; undefined says nothing. */
  valueOf(key: Buffer): Buffer | undefined {
    const [tag] = key;
    if (isSessionKey(key)) return this.#sessions.valueOf(key);
    if (tag === tags.setMember) {
      return this.#plain.find(this.#engine, key) >= 0 ? MEMBER : undefined;
    }
    if (tag !== tags.zsetMember && (tag !== tags.key || !this.#hasIntegers)) return undefined;
    const at = this.#numbers.find(this.#engine, key);
    if (at < 0) return undefined;
    this.#double.writeInt32BE(this.#numbers.number(at, 0), 0);
    this.#double.writeInt32BE(this.#numbers.number(at, 1), 4);
    if (tag === tags.key) return valueOfInteger(this.#double.readDoubleBE(0));
    const value = Buffer.allocUnsafe(SCORE_BYTES);
    value[0] = 0;
    value.set(this.#double, 1);
    return value;
  }

  /** To be told before the engine is, of every batch. */
  changing(operations: BatchOperations): void {
    const looked = lookedThrough(operations);
    if (looked === undefined || looked.length > limits.keyFilterChangesMax) return this.forget();
    for (const operation of looked) this.changingOne(operation, false);
  }

  /** The same, of one operation. `isNew`: nothing is known of its key, which need not be looked for. */
  changingOne(operation: BatchOperation, isNew: boolean): void {
    const { key } = operation;
    const value = operation.type === 'put' ? operation.value : undefined;
    if (isRecordKey(key)) this.#recordChanging(key, value, isNew);
    else if (isMemberKey(key)) this.#memberChanging(key, value, isNew);
    else if (isSessionKey(key)) this.#sessions.changing(key, value);
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#engine = this.#known.newEngine();
    this.#hasIntegers = false;
    this.#sessions.forget();
  }

  /** `value`: what a batch stores, sealed; undefined: nothing is left. */
  #recordChanging(key: Buffer, value: Buffer | undefined, isNew: boolean): void {
    const isPlain = value !== undefined && isPlainString(value);
    if (isPlain) this.#plain.add(this.#engine, key, isNew);
    else if (!isNew) this.#plain.remove(this.#engine, key);
    const integer = isPlain ? plainInteger(value, value.length - CRC_BYTES) : undefined;
    if (integer === undefined) {
      if (this.#hasIntegers && !isNew) this.#numbers.remove(this.#engine, key);
    } else {
      this.#hasIntegers = true;
      this.#double.writeDoubleBE(integer, 0);
      this.#addDouble(key, isNew, this.#double, 0);
    }
  }

  #memberChanging(key: Buffer, value: Buffer | undefined, isNew: boolean): void {
    // with other flags there is more to it
    const isPlain = value !== undefined && value[0] === 0;
    if (key[0] === tags.zsetMember) {
      if (isPlain && value.length === SCORE_BYTES + CRC_BYTES)
        this.#addDouble(key, isNew, value, 1);
      else if (!isNew) this.#numbers.remove(this.#engine, key);
    } else if (isPlain) this.#plain.add(this.#engine, key, isNew);
    else if (!isNew) this.#plain.remove(this.#engine, key);
  }

  #addDouble(key: Buffer, isNew: boolean, bytes: Buffer, at: number): void {
    this.#numbers.add(this.#engine, key, isNew, bytes.readInt32BE(at), bytes.readInt32BE(at + 4));
  }
}
