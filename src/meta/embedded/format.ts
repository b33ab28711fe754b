/**
 * The embedded store's files. `snapshot-N` holds the whole state when `log-N` was begun.
 *
 *   snapshot: "KVMS", u32 version, u32 length, u32 crc(body), body
 *   log:      "KVML", u32 version, u64 N, u32 crc of the 16 bytes before
 *   batch:    "KVMB", u32 length, u32 crc, body     crc over u64 N, u64 offset, body
 *   body:     u64 number, u64 durable number, u32 count, count × (u8 command, u32 length, bytes)
 *
 * Header and batches are padded with zeros to whole sectors: a write that power cuts short may spoil
 * the sectors it touches, and none of them may hold what was durable before.
 *
 * Batches are numbered from 1 in each log. `durable number` is the last batch known to be synced
 * when this one was written; a batch without commands is such a mark alone.
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { crc32 } from '../../common/checksum.ts';
import { keyValueCodec } from './messages.ts';
import type { StateImage } from './state.ts';
import { WireError } from './wire.ts';

const FORMAT_VERSION = 1;
export const SECTOR_BYTES = 512;
/** Where the first batch is. */
export const LOG_HEADER_BYTES = SECTOR_BYTES;
const HEADER_FIELD_BYTES = 20;
export const BATCH_HEADER_BYTES = 12;
const batchMagic = Buffer.from('KVMB');
const snapshotMagic = Buffer.from('KVMS');
const logMagic = Buffer.from('KVML');

/** Frozen numbers of the commands in the log. */
export const commandNumbers = {
  put: 1,
  delete: 2,
  transaction: 3,
  compact: 4,
  grant: 5,
  revoke: 6,
} as const;
export type CommandName = keyof typeof commandNumbers;

export interface LogRecord {
  readonly command: number;
  readonly payload: Buffer;
}
export interface Batch {
  readonly number: number;
  readonly durable: number;
  readonly records: readonly LogRecord[];
}

/** The end of the sector that `offset` lies in; `offset` itself where one begins. */
function alignToSector(offset: number): number {
  return Math.ceil(offset / SECTOR_BYTES) * SECTOR_BYTES;
}

export function encodeLogHeader(file: number): Buffer {
  const writer = new ByteWriter(HEADER_FIELD_BYTES).raw(logMagic).u32(FORMAT_VERSION).u64(file);
  return padded(writer.u32(crc32(writer.finish())).finish());
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes], alignToSector(bytes.length));
}

/** Returns what is wrong with the header, or undefined. */
export function logHeaderFault(bytes: Buffer, file: number): string | undefined {
  if (bytes.length >= 8 && bytes.subarray(0, 4).equals(logMagic)) {
    const version = bytes.readUInt32BE(4);
    const sound =
      bytes.length >= HEADER_FIELD_BYTES && crc32(bytes.subarray(0, 16)) === bytes.readUInt32BE(16);
    if (sound && version !== FORMAT_VERSION) return `version ${version}, not ${FORMAT_VERSION}`;
  }
  const expected = encodeLogHeader(file);
  return bytes.subarray(0, LOG_HEADER_BYTES).equals(expected) ? undefined : 'bad header';
}

export function encodeBatch(file: number, offset: number, batch: Batch): Buffer {
  const writer = new ByteWriter(1_024).raw(batchMagic).u32(0).u32(0);
  writer.u64(batch.number).u64(batch.durable).u32(batch.records.length);
  for (const { command, payload } of batch.records) writer.u8(command).bytes(payload);
  const body = writer.finish().subarray(BATCH_HEADER_BYTES);
  writer.patchU32(4, body.length);
  writer.patchU32(8, batchChecksum(file, offset, body));
  return padded(writer.finish());
}

/**
 * Reads the batch at `offset`; undefined when there is none that is whole and sound, `unreadable`
 * when its checksum is right and yet it says nothing. `end` is where the next begins.
 */
export function decodeBatch(
  log: Buffer,
  file: number,
  offset: number,
): { readonly batch: Batch; readonly end: number } | 'unreadable' | undefined {
  if (log.length - offset < BATCH_HEADER_BYTES) return undefined;
  if (!log.subarray(offset, offset + 4).equals(batchMagic)) return undefined;
  const start = offset + BATCH_HEADER_BYTES;
  const end = start + log.readUInt32BE(offset + 4);
  if (end > log.length) return undefined;
  const body = log.subarray(start, end);
  if (batchChecksum(file, offset, body) !== log.readUInt32BE(offset + 8)) return undefined;
  const batch = readable(() => batchIn(new ByteReader(body)));
  return typeof batch === 'string' ? 'unreadable' : { batch, end: alignToSector(end) };
}

function batchIn(reader: ByteReader): Batch {
  const number = reader.u64();
  const durable = reader.u64();
  const records: LogRecord[] = [];
  for (let count = reader.u32(); count > 0; count--) {
    records.push({ command: reader.u8(), payload: reader.bytes() });
  }
  reader.end();
  return { number, durable, records };
}

/** What `read` gives, or in words why it cannot be read. */
function readable<Value>(read: () => Value): Value | string {
  try {
    return read();
  } catch (failure) {
    if (!(failure instanceof ByteRangeError) && !(failure instanceof WireError)) throw failure;
    return `it does not decode (${failure.message})`;
  }
}

function batchChecksum(file: number, offset: number, body: Buffer): number {
  const place = new ByteWriter(16).u64(file).u64(offset).finish();
  return crc32(body, crc32(place));
}

export function encodeSnapshot(image: StateImage): Buffer {
  const writer = new ByteWriter(4_096).raw(snapshotMagic).u32(FORMAT_VERSION).u32(0).u32(0);
  writer.u64(image.clusterId).u64(image.revision).u64(image.compactRevision);
  writer.u64(image.nextLease).u32(image.leases.length);
  for (const { id, ttlSeconds } of image.leases) writer.u64(id).u32(ttlSeconds);
  writer.u32(image.items.length);
  for (const item of image.items) writer.bytes(keyValueCodec.encode(item));
  const body = writer.finish().subarray(16);
  writer.patchU32(8, body.length);
  writer.patchU32(12, crc32(body));
  return writer.finish();
}

/** Returns the image, or in words what is wrong with the bytes. */
export function decodeSnapshot(bytes: Buffer): StateImage | string {
  if (bytes.length < 16 || !bytes.subarray(0, 4).equals(snapshotMagic)) return 'bad header';
  const version = bytes.readUInt32BE(4);
  if (version !== FORMAT_VERSION) return `version ${version}, this build reads ${FORMAT_VERSION}`;
  const body = bytes.subarray(16);
  if (body.length !== bytes.readUInt32BE(8)) return 'bad length';
  if (crc32(body) !== bytes.readUInt32BE(12)) return 'bad checksum';
  return readable(() => imageIn(new ByteReader(body)));
}

function imageIn(reader: ByteReader): StateImage {
  const clusterId = reader.u64();
  const revision = reader.u64();
  const compactRevision = reader.u64();
  const nextLease = reader.u64();
  const leases: { id: number; ttlSeconds: number }[] = [];
  for (let count = reader.u32(); count > 0; count--) {
    leases.push({ id: reader.u64(), ttlSeconds: reader.u32() });
  }
  const items = [];
  for (let count = reader.u32(); count > 0; count--) {
    items.push(keyValueCodec.decode(Buffer.from(reader.bytes())));
  }
  reader.end();
  return { clusterId, revision, compactRevision, nextLease, leases, items };
}
