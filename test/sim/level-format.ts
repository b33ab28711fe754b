/** LevelDB's log format, written as its writer does and read as leniently as its reader does. */
import { crc32c, maskCrc, unmaskCrc } from '../../src/datanode/engine/crc32c.ts';
import type { BatchOperation, BatchOperations } from '../../src/datanode/engine/engine.ts';
import { LOG_BLOCK_BYTES } from '../../src/datanode/engine/level-log.ts';
import { VarintReader } from '../../src/datanode/engine/varint.ts';

const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;
const MIDDLE = 3;
const LAST = 4;

/** A log that holds `records`, laid out from its beginning. */
export function encodeLog(records: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  for (const record of records) {
    const bytes = encodeLogRecord(record, size);
    parts.push(bytes);
    size += bytes.length;
  }
  return Buffer.concat(parts);
}

/** `record` as it is appended to a log of `size` bytes, padding to the next block included. */
export function encodeLogRecord(record: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  let room = LOG_BLOCK_BYTES - (size % LOG_BLOCK_BYTES);
  let at = 0;
  let begun = false; // a first fragment may be empty: seven bytes were left in the block
  do {
    if (room < HEADER_BYTES) {
      parts.push(Buffer.alloc(room));
      room = LOG_BLOCK_BYTES;
    }
    const payload = record.subarray(at, at + room - HEADER_BYTES);
    const ends = at + payload.length === record.length;
    parts.push(physical(begun ? (ends ? LAST : MIDDLE) : ends ? FULL : FIRST, payload));
    begun = true;
    at += payload.length;
    room -= HEADER_BYTES + payload.length;
  } while (at < record.length);
  return Buffer.concat(parts);
}

export function physical(type: number, payload: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES + payload.length);
  bytes.writeUInt16LE(payload.length, 4);
  bytes[6] = type;
  payload.copy(bytes, HEADER_BYTES);
  bytes.writeUInt32LE(maskCrc(crc32c(bytes, 6)), 0);
  return bytes;
}

/** The records LevelDB would replay (after damage it goes on with the next block), and where they end. */
export function readLogLeniently(log: Buffer): {
  readonly records: Buffer[];
  readonly end: number;
} {
  const records: Buffer[] = [];
  let last = 0;
  let open: Buffer[] | undefined;
  for (let start = 0; start < log.length; start += LOG_BLOCK_BYTES) {
    const block = log.subarray(start, start + LOG_BLOCK_BYTES);
    for (let at = 0; at + HEADER_BYTES <= block.length; ) {
      const length = block.readUInt16LE(at + 4);
      const type = block[at + 6]!;
      const end = at + HEADER_BYTES + length;
      if (end > block.length || type < FULL || type > LAST) break;
      if (crc32c(block, at + 6, end) !== unmaskCrc(block.readUInt32LE(at))) {
        open = undefined;
        break;
      }
      const payload = block.subarray(at + HEADER_BYTES, end);
      if (type === FULL) records.push(payload);
      else if (type === FIRST) open = [payload];
      else open?.push(payload);
      if (type === LAST && open !== undefined) records.push(Buffer.concat(open));
      if (type === LAST) open = undefined;
      at = end;
      last = start + end;
    }
  }
  return { records, end: last };
}

/** A write batch: `sequence u64 | count u32 | (1 key value | 0 key)…`, little-endian. */
export function encodeWriteBatch(sequence: number, operations: BatchOperations): Buffer {
  let size = 12;
  for (const operation of operations) {
    size += 1 + prefixedBytes(operation.key);
    if (operation.type === 'put') size += prefixedBytes(operation.value);
  }
  const batch = Buffer.allocUnsafe(size);
  batch.writeUInt32LE(sequence % 2 ** 32, 0);
  batch.writeUInt32LE(Math.floor(sequence / 2 ** 32), 4);
  batch.writeUInt32LE(operations.length, 8);
  let at = 12;
  for (const operation of operations) {
    batch[at++] = operation.type === 'put' ? 1 : 0;
    at = putPrefixed(batch, at, operation.key);
    if (operation.type === 'put') at = putPrefixed(batch, at, operation.value);
  }
  return batch;
}

function prefixedBytes({ length }: Buffer): number {
  let size = 1 + length;
  for (let rest = length; rest >= 128; rest >>>= 7) size++;
  return size;
}

/** Its length as a varint, and what it holds; returns where that ends. */
function putPrefixed(batch: Buffer, begin: number, bytes: Buffer): number {
  let at = begin;
  let rest = bytes.length;
  for (; rest >= 128; rest >>>= 7) batch[at++] = (rest & 127) | 128;
  batch[at++] = rest;
  bytes.copy(batch, at);
  return at + bytes.length;
}

export function decodeWriteBatch(record: Buffer): {
  readonly sequence: number;
  readonly operations: BatchOperation[];
} {
  const sequence = record.readUInt32LE(0) + record.readUInt32LE(4) * 2 ** 32;
  const reader = new VarintReader(record.subarray(12));
  const operations: BatchOperation[] = [];
  for (let left = record.readUInt32LE(8); left > 0; left--) {
    const type = reader.varint();
    const key = Buffer.from(reader.bytes());
    if (type === 1) operations.push({ type: 'put', key, value: Buffer.from(reader.bytes()) });
    else operations.push({ type: 'del', key });
  }
  return { sequence, operations };
}

/** The one record of a new MANIFEST. */
export function encodeFirstManifest(logNumber: number): Buffer {
  const comparator = Buffer.from('leveldb.BytewiseComparator');
  const edit = [varint(1), varint(comparator.length), comparator];
  edit.push(varint(2), varint(logNumber), varint(9), varint(0));
  edit.push(varint(3), varint(logNumber + 1), varint(4), varint(0));
  return encodeLog([Buffer.concat(edit)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
  return Buffer.from(bytes);
}
