/**
 * What is pending in a group of a stream, which the file tells before it tells for whom: 32 bytes for
 * each, in the order of their IDs.
 */
import { RdbError } from '../../../datanode/encoding/rdb/rdb-reader.ts';

const ROW_BYTES = 32;
const TAKEN = 0xffff_ffff;
/** 128 MiB. */
const ROWS_MAX = 4_194_304;
const FIRST_ROWS = 256;

export class PendingTable {
  #rows = Buffer.allocUnsafe(FIRST_ROWS * ROW_BYTES);
  #count = 0;
  /** Of those that were added, how many nobody has taken. */
  left = 0;

  get length(): number {
    return this.#count;
  }

  /** False: there is no room for it. Throws RdbError. */
  add(id: Buffer, deliveredMs: bigint, deliveries: number): boolean {
    const at = this.#count * ROW_BYTES;
    const beforeAt = at - ROW_BYTES;
    if (
      this.#count > 0 &&
      this.#rows.compare(id, 0, id.length, beforeAt, beforeAt + id.length) >= 0
    ) {
      throw new RdbError('what is pending is not in order');
    }
    if (this.#count === ROWS_MAX) return false;
    if (at === this.#rows.length) {
      this.#rows = Buffer.concat([this.#rows, Buffer.allocUnsafe(this.#rows.length)]);
    }
    id.copy(this.#rows, at);
    this.#rows.writeBigUInt64LE(deliveredMs, at + 16);
    this.#rows.writeUInt32LE(Math.min(deliveries, TAKEN - 1), at + 24);
    this.#rows.writeUInt32LE(0, at + 28);
    this.#count++;
    this.left++;
    return true;
  }

  /** Each is taken once; throws RdbError. */
  take(id: Buffer): { readonly deliveredMs: number; readonly deliveries: number } {
    let [low, high] = [0, this.#count - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const at = middle * ROW_BYTES;
      const order = this.#rows.subarray(at, at + id.length).compare(id);
      if (order === 0) return this.#takeRow(at);
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    throw new RdbError('an entry is pending for two, or none');
  }

  #takeRow(at: number): { readonly deliveredMs: number; readonly deliveries: number } {
    if (this.#rows.readUInt32LE(at + 28) === TAKEN) {
      throw new RdbError('an entry is pending for two, or none');
    }
    this.#rows.writeUInt32LE(TAKEN, at + 28);
    this.left--;
    const deliveredMs = Number(this.#rows.readBigUInt64LE(at + 16));
    return { deliveredMs, deliveries: this.#rows.readUInt32LE(at + 24) };
  }
}
