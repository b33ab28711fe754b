/**
 * Records of megabytes, sealed and checked in steps: the checksum of 16 MiB holds the event loop for
 * ten milliseconds. One that was read is given out before it is checked, and checked before anything
 * that came of it leaves the replica: damage is found as early as it matters, and stops the replica
 * as it always does.
 */
import { crc32 } from '../../../common/checksum.ts';
import { CRC_BYTES, crcMismatch, openRecord, valueIn } from '../records/record.ts';
import type { Pacing } from '../steps/slices.ts';

/** Records from this size on. */
export const LARGE_RECORD_BYTES = 1_048_576;
/** Bytes that are copied, or looked through, before others may have their turn. */
const STEP_BYTES = 524_288;
/** Records that wait for their check are held in memory; beyond, they are checked at once. */
const UNCHECKED_BYTES_MAX = 33_554_432;

/** `sealRecord` with pauses. */
export async function sealLarge(key: Buffer, value: Buffer, pace: Pacing): Promise<Buffer> {
  const record = Buffer.allocUnsafeSlow(value.length + CRC_BYTES);
  let crc = crc32(key);
  for (let from = 0; from < value.length; from += STEP_BYTES) {
    const step = value.subarray(from, from + STEP_BYTES);
    record.set(step, from);
    crc = crc32(step, crc);
    if (pace.isDue()) await pace.pause();
  }
  record.writeUInt32BE(crc, value.length);
  return record;
}

/** Opens records; the large ones are to be checked before anything that came of them is told. */
export class RecordOpener {
  #unchecked: (readonly [key: Buffer, record: Buffer])[] | undefined;
  #bytes = 0;

  /** All that was opened is checked. */
  get isDone(): boolean {
    return this.#unchecked === undefined;
  }

  /** The value within `record`; KvorumError CORRUPT, now or from a check, when it is damaged. */
  open(key: Buffer, record: Buffer): Buffer {
    const { length } = record;
    if (length < LARGE_RECORD_BYTES || this.#bytes + length > UNCHECKED_BYTES_MAX) {
      return openRecord(key, record);
    }
    this.#unchecked ??= [];
    this.#unchecked.push([key, record]);
    this.#bytes += length;
    return valueIn(key, record);
  }

  check(): void {
    for (const [key, record] of this.#take()) openRecord(key, record);
  }

  /** Begins in a later turn: reading the records was work enough for this one. */
  async checkInSteps(pace: Pacing): Promise<void> {
    for (const [key, record] of this.#take()) {
      await pace.pause();
      const value = valueIn(key, record);
      let crc = crc32(key);
      for (let from = 0; from < value.length; from += STEP_BYTES) {
        crc = crc32(value.subarray(from, from + STEP_BYTES), crc);
        if (pace.isDue()) await pace.pause();
      }
      if (crc !== record.readUInt32BE(value.length)) throw crcMismatch(key);
    }
  }

  #take(): readonly (readonly [key: Buffer, record: Buffer])[] {
    const unchecked = this.#unchecked ?? [];
    this.#unchecked = undefined;
    this.#bytes = 0;
    return unchecked;
  }
}
