/**
 * Reader of LevelDB's log format (its logs and its MANIFEST), for verification: 32 KiB blocks of
 * physical records `masked CRC-32C u32 | length u16 | type u8 | payload`, little-endian; a logical
 * record is one FULL or FIRST, MIDDLE…, LAST; fewer than seven bytes at a block's end are padding.
 * LevelDB itself skips what is damaged and goes on; this reader stops there and says where.
 */
import { asBuffer } from '../../common/bytes.ts';
import type { DiskFile } from '../../common/disk.ts';
import { crc32c, unmaskCrc } from './crc32c.ts';

export const LOG_BLOCK_BYTES = 32_768;
const HEADER_BYTES = 7;
const READ_BYTES = 32 * LOG_BLOCK_BYTES;

const recordType = { full: 1, first: 2, middle: 3, last: 4 } as const;

export interface LogRecord {
  /** Where its first header begins. */
  readonly offset: number;
  readonly length: number;
  /** The payload's first bytes, as many as the caller asked to keep. */
  readonly head: Buffer;
}

/**
 * How a log ends. `unfinished`: the file ends inside a record, as when its writer died.
 * `damaged`: bytes are wrong, or follow where none may. `offset`: end of the last good record.
 */
export type LogEnd =
  | { readonly kind: 'clean' }
  | { readonly kind: 'unfinished' | 'damaged'; readonly offset: number; readonly what: string };

/** Says what is wrong with a record, or undefined. */
export type RecordCheck = (record: LogRecord) => string | undefined;

/** Reads a whole log, calling `check` for each record until one is bad. */
export async function scanLog(
  file: DiskFile,
  keepBytes: number,
  check: RecordCheck,
): Promise<LogEnd> {
  const scanner = new LogScanner(keepBytes, check);
  const size = await file.size();
  for (let offset = 0; offset < size; offset += READ_BYTES) {
    const chunk = await file.pread(offset, Math.min(READ_BYTES, size - offset));
    for (let at = 0; at < chunk.length; at += LOG_BLOCK_BYTES) {
      const end = scanner.feed(asBuffer(chunk.subarray(at, at + LOG_BLOCK_BYTES)));
      if (end) return end;
    }
  }
  return scanner.finish();
}

/**
 * Whether a sound record begins anywhere after `offset`. Where each record is synced before the
 * next is written, a bad one with none after it may never have been whole.
 */
export async function hasRecordAfter(file: DiskFile, offset: number): Promise<boolean> {
  const bytes = asBuffer(await file.pread(offset, (await file.size()) - offset));
  for (let at = 1; at + HEADER_BYTES <= bytes.length; at++) {
    const type = bytes[at + 6]!;
    if (type !== recordType.full && type !== recordType.first) continue;
    const end = at + HEADER_BYTES + bytes.readUInt16LE(at + 4);
    const blockEnd = LOG_BLOCK_BYTES - ((offset + at) % LOG_BLOCK_BYTES);
    if (end > bytes.length || end - at > blockEnd) continue;
    if (crc32c(bytes, at + 6, end) === unmaskCrc(bytes.readUInt32LE(at))) return true;
  }
  return false;
}

class LogScanner {
  readonly #keepBytes: number;
  readonly #check: RecordCheck;
  #blockOffset = 0;
  #open: { offset: number; length: number; head: Buffer[]; kept: number } | undefined;
  #zerosFrom: number | undefined;

  constructor(keepBytes: number, check: RecordCheck) {
    this.#keepBytes = keepBytes;
    this.#check = check;
  }

  /** Takes the next block (only the last may be short); returns the end when it is reached. */
  feed(block: Buffer): LogEnd | undefined {
    let at = 0;
    while (
      block.length - at >= HEADER_BYTES ||
      (at < block.length && this.#zerosFrom !== undefined)
    ) {
      if (isZero(block, at)) {
        this.#zerosFrom ??= this.#blockOffset + at;
        break;
      }
      if (this.#zerosFrom !== undefined) {
        return damaged(this.#open?.offset ?? this.#zerosFrom, 'zeros before more data');
      }
      const length = block.readUInt16LE(at + 4);
      const end = at + HEADER_BYTES + length;
      const offset = this.#open?.offset ?? this.#blockOffset + at;
      if (end > block.length) return this.#overlong(block, at, offset);
      const expected = unmaskCrc(block.readUInt32LE(at));
      if (crc32c(block, at + 6, end) !== expected) return damaged(offset, 'checksum mismatch');
      const what = this.#take(block[at + 6]!, block.subarray(at + HEADER_BYTES, end), offset);
      if (what !== undefined) return damaged(offset, what);
      at = end;
    }
    const offset = this.#open?.offset ?? this.#blockOffset + at;
    if (block.length < LOG_BLOCK_BYTES && !isZero(block, at)) {
      return { kind: 'unfinished', offset, what: 'the file ends inside a record header' };
    }
    this.#blockOffset += block.length;
    return undefined;
  }

  finish(): LogEnd {
    if (!this.#open) return { kind: 'clean' };
    return {
      kind: 'unfinished',
      offset: this.#open.offset,
      what: 'the file ends inside a record',
    };
  }

  /** Adds one physical record; returns what is wrong with the logical one it belongs to. */
  #take(type: number, payload: Buffer, offset: number): string | undefined {
    const begins = type === recordType.full || type === recordType.first;
    if (!begins && type !== recordType.middle && type !== recordType.last) {
      return `unknown record type ${type}`;
    }
    if (begins === (this.#open !== undefined)) {
      return begins ? 'a record without its end' : 'a record without its beginning';
    }
    this.#open ??= { offset, length: 0, head: [], kept: 0 };
    const open = this.#open;
    open.length += payload.length;
    if (open.kept < this.#keepBytes) {
      const part = payload.subarray(0, this.#keepBytes - open.kept);
      open.head.push(part);
      open.kept += part.length;
    }
    if (type !== recordType.full && type !== recordType.last) return undefined;
    this.#open = undefined;
    const head = open.head.length === 1 ? open.head[0]! : Buffer.concat(open.head);
    return this.#check({ offset: open.offset, length: open.length, head });
  }

  /**
   * A record that is longer than its block. In the last block that is how a dying writer leaves
   * it, unless the checksum fits a shorter payload: then the length itself is damaged.
   */
  #overlong(block: Buffer, at: number, offset: number): LogEnd {
    if (block.length === LOG_BLOCK_BYTES) return damaged(offset, 'record longer than its block');
    const expected = unmaskCrc(block.readUInt32LE(at));
    let crc = crc32c(block, at + 6, at + 7);
    for (let end = at + HEADER_BYTES; end <= block.length; end++) {
      if (crc === expected) return damaged(offset, 'record length damaged');
      if (end < block.length) crc = crc32c(block, end, end + 1, crc);
    }
    return { kind: 'unfinished', offset, what: 'the file ends inside a record' };
  }
}

function damaged(offset: number, what: string): LogEnd {
  return { kind: 'damaged', offset, what };
}

function isZero(block: Buffer, from: number): boolean {
  for (let at = from; at < block.length; at++) if (block[at] !== 0) return false;
  return true;
}
