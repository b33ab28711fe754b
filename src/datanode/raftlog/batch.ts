/**
 * One batch while it gathers records, encoded straight into a growing buffer. Its place (segment
 * and offset) is known from its first record on, so entries have their address at once.
 */
import { assert } from '../../common/assert.ts';
import { crc32 } from '../../common/checksum.ts';
import type { ReplicaId } from '../../common/ids.ts';
import type { Entry } from '../raft/message.ts';
import {
  alignToSector,
  BATCH_HEADER_BYTES,
  batchFlags,
  ENTRY_HEADER_BYTES,
  type EntryRecord,
  encodeBatchHeader,
  encodeEntry,
  encodeEntryHead,
  encodeRecord,
  endEntry,
  entryHeadCrc,
  type LogRecord,
  REPLICA_BYTES,
} from './format.ts';

/** A buffer that grew beyond this is not kept for the next batch. */
const KEPT_BUFFER_BYTES = 4 * 1024 * 1024;
const FIRST_BUFFER_BYTES = 64 * 1024;
/** Data of an entry that is copied only when the batch is sealed. */
const LARGE_ENTRY_BYTES = 256 * 1024;
/** A batch beyond this is sealed in steps, of so many bytes each (half a millisecond). */
const SEAL_STEP_BYTES = 1024 * 1024;

/** Two buffers take turns: one gathers while the other is written. */
export class BufferPool {
  readonly #free: Buffer[] = [];

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(FIRST_BUFFER_BYTES);
  }

  give(buffer: Buffer): void {
    if (buffer.length <= KEPT_BUFFER_BYTES && this.#free.length < 2) this.#free.push(buffer);
  }
}

export interface BatchPlace {
  readonly segment: number;
  readonly offset: number;
  readonly seq: number;
  /** The first batch of its segment. */
  readonly first: boolean;
}

export class Batch {
  readonly place: BatchPlace;
  /** Run, in order, once the batch's bytes are in the file, synced or not. */
  readonly onWritten: (() => void)[] = [];
  /** Run, in order, once the batch is durable. */
  readonly onDurable: (() => void)[] = [];
  #buffer: Buffer;
  #length = BATCH_HEADER_BYTES;
  /** Entries with their heads in place. */
  #unfinished: { readonly at: number; readonly data: Uint8Array }[] = [];

  constructor(place: BatchPlace, buffer: Buffer) {
    this.place = place;
    this.#buffer = buffer;
  }

  /** Header and payload so far. */
  get length(): number {
    return this.#length;
  }

  /** Where in the segment the next batch begins if this one ends here. */
  get end(): number {
    return this.place.offset + alignToSector(this.#length);
  }

  /** Holds no records: it only says that everything before it is durable. */
  get isMark(): boolean {
    return this.#length === BATCH_HEADER_BYTES;
  }

  /** Adds an entry; returns its record's offset in the segment. */
  addEntry(kind: EntryRecord['kind'], replica: ReplicaId, entry: Entry): number {
    this.#reserve(ENTRY_HEADER_BYTES + entry.data.length);
    const at = this.#length;
    if (entry.data.length < LARGE_ENTRY_BYTES) {
      this.#length = encodeEntry(this.#buffer, at, kind, this.place.segment, replica, entry);
    } else {
      this.#length = encodeEntryHead(this.#buffer, at, kind, replica, entry);
      this.#unfinished.push({ at, data: entry.data });
    }
    return this.place.offset + at;
  }

  add(record: Exclude<LogRecord, EntryRecord>): void {
    this.#reserve(REPLICA_BYTES);
    this.#length = encodeRecord(this.#buffer, this.#length, record);
  }

  /**
   * Completes the batch; the bytes are whole sectors and valid until `release`. Nothing is added
   * from the call on. `pause` resolves in a later turn: a large batch is sealed in steps.
   */
  async seal(durable: number, pause: () => Promise<void>): Promise<Buffer> {
    const total = alignToSector(this.#length);
    this.#reserve(total - this.#length);
    this.#buffer.fill(0, this.#length, total);
    for (const { at, data } of this.#unfinished) await this.#finishEntry(at, data, pause);
    this.#unfinished = [];
    let payloadCrc = 0;
    for (let from = BATCH_HEADER_BYTES; from < this.#length; from += SEAL_STEP_BYTES) {
      if (from > BATCH_HEADER_BYTES) await pause();
      const to = Math.min(this.#length, from + SEAL_STEP_BYTES);
      payloadCrc = crc32(this.#buffer.subarray(from, to), payloadCrc);
    }
    const { segment, offset, seq, first } = this.place;
    const payloadBytes = this.#length - BATCH_HEADER_BYTES;
    const flags = (first ? batchFlags.first : 0) | (payloadBytes === 0 ? batchFlags.mark : 0);
    const bytes = this.#buffer.subarray(0, total);
    encodeBatchHeader(bytes, { flags, segment, offset, seq, durable, payloadBytes, payloadCrc });
    return bytes;
  }

  async #finishEntry(at: number, data: Uint8Array, pause: () => Promise<void>): Promise<void> {
    let crc = entryHeadCrc(this.#buffer, at, this.place.segment);
    for (let from = 0; from < data.length; from += SEAL_STEP_BYTES) {
      await pause();
      const step = data.subarray(from, from + SEAL_STEP_BYTES);
      this.#buffer.set(step, at + ENTRY_HEADER_BYTES + from);
      crc = crc32(step, crc);
    }
    endEntry(this.#buffer, at, crc);
  }

  /** Gives the buffer back; the batch must not be added to or sealed afterwards. */
  release(pool: BufferPool): void {
    pool.give(this.#buffer);
    this.#buffer = Buffer.alloc(0);
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    assert(this.#buffer.length > 0, 'a released batch takes no records');
    const grown = Buffer.allocUnsafeSlow(alignToSector(Math.max(needed, this.#buffer.length * 2)));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}
