/**
 * What a large write leaves in the store until it has been carried out (large-write.ts). Frozen
 * format, under keys that lie before those of every layer; numbers are big-endian, checksums CRC-32
 * over key and what is before them:
 *
 *   redo   00 01 number u32   → operations · checksum u32
 *          each: type u8 (0 removal, 1 put) · length u32 · key · [length u32 · value]
 *   mark   00 02              → version u8 (1) · redo records u32 · checksum u32
 *   undo   00 03              → version u8 (1) · each: length u32 · prefix · checksum u32
 */
import { ByteRangeError, ByteReader } from '../../common/bytes.ts';
import { crc32 } from '../../common/checksum.ts';
import { KvorumError } from '../../common/errors.ts';
import type { BatchOperation, KeyRange } from './engine.ts';

export const REDO_MARK = Buffer.from([0x00, 0x02]);
/** Without a mark, what is stored under its prefixes is to be removed. */
export const UNDO = Buffer.from([0x00, 0x03]);
/** All redo records, without the mark. */
export const REDO_RECORDS: KeyRange = { gte: Buffer.from([0x00, 0x01]), lt: REDO_MARK };

const VERSION = 1;
const DEL = 0;
const PUT = 1;
const CRC_BYTES = 4;
const MARK_BYTES = 5;
/** Type and length of the key; length of the value. */
const DEL_BYTES = 5;
const VALUE_LENGTH_BYTES = 4;

export function redoKey(number: number): Buffer {
  const key = Buffer.allocUnsafe(6);
  key[0] = 0x00;
  key[1] = 0x01;
  key.writeUInt32BE(number, 2);
  return key;
}

/** The put of redo record `number`. */
export function encodeRedo(number: number, operations: readonly BatchOperation[]): BatchOperation {
  let bytes = CRC_BYTES;
  for (const operation of operations) {
    bytes += DEL_BYTES + operation.key.length;
    if (operation.type === 'put') bytes += VALUE_LENGTH_BYTES + operation.value.length;
  }
  const value = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (const operation of operations) {
    at = value.writeUInt8(operation.type === 'put' ? PUT : DEL, at);
    at = writeBytes(value, operation.key, at);
    if (operation.type === 'put') at = writeBytes(value, operation.value, at);
  }
  return sealed(redoKey(number), value);
}

/** Its operations (views of `record`). Throws KvorumError CORRUPT. */
export function decodeRedo(number: number, record: Buffer | undefined): BatchOperation[] {
  const reader = new ByteReader(opened(redoKey(number), record));
  const operations: BatchOperation[] = [];
  try {
    while (reader.remaining > 0) {
      const type = reader.u8();
      const key = reader.bytes();
      if (type > PUT) throw new ByteRangeError(`unknown type ${type}`);
      operations.push(
        type === DEL ? { type: 'del', key } : { type: 'put', key, value: reader.bytes() },
      );
    }
  } catch (error) {
    if (error instanceof ByteRangeError) throw corrupt(redoKey(number), error.message);
    throw error;
  }
  return operations;
}

/** The put of the mark over `records` redo records. */
export function encodeMark(records: number): BatchOperation {
  const value = Buffer.allocUnsafe(MARK_BYTES + CRC_BYTES);
  value[0] = VERSION;
  value.writeUInt32BE(records, 1);
  return sealed(REDO_MARK, value);
}

/** How many redo records there are. Throws KvorumError CORRUPT, or TOO_NEW. */
export function decodeMark(record: Buffer): number {
  const mark = opened(REDO_MARK, record);
  checkVersion(REDO_MARK, mark[0]);
  if (mark.length !== MARK_BYTES) throw corrupt(REDO_MARK, `it has ${mark.length} bytes`);
  return mark.readUInt32BE(1);
}

/** The put of the undo record over what lies under `prefixes`. */
export function encodeUndo(prefixes: readonly Buffer[]): BatchOperation {
  const bytes = prefixes.reduce((sum, { length }) => sum + VALUE_LENGTH_BYTES + length, 1);
  const value = Buffer.allocUnsafe(bytes + CRC_BYTES);
  let at = value.writeUInt8(VERSION, 0);
  for (const prefix of prefixes) at = writeBytes(value, prefix, at);
  return sealed(UNDO, value);
}

/** Its prefixes (views of `record`). Throws KvorumError CORRUPT, or TOO_NEW. */
export function decodeUndo(record: Buffer): Buffer[] {
  const reader = new ByteReader(opened(UNDO, record));
  const prefixes: Buffer[] = [];
  try {
    checkVersion(UNDO, reader.u8());
    while (reader.remaining > 0) prefixes.push(reader.bytes());
  } catch (error) {
    if (error instanceof ByteRangeError) throw corrupt(UNDO, error.message);
    throw error;
  }
  return prefixes;
}

function writeBytes(target: Buffer, bytes: Buffer, at: number): number {
  const from = target.writeUInt32BE(bytes.length, at);
  target.set(bytes, from);
  return from + bytes.length;
}

function checkVersion(key: Buffer, version: number | undefined): void {
  if (version === VERSION) return;
  if (version === undefined || version < VERSION) throw corrupt(key, `it is of version ${version}`);
  throw new KvorumError(
    'TOO_NEW',
    `record ${key.toString('hex')} of a large write is of version ${version}, this build reads ` +
      `${VERSION}; upgrade kvorum on this node`,
  );
}

function sealed(key: Buffer, value: Buffer): BatchOperation {
  const end = value.length - CRC_BYTES;
  value.writeUInt32BE(crc32(value.subarray(0, end), crc32(key)), end);
  return { type: 'put', key, value };
}

function opened(key: Buffer, record: Buffer | undefined): Buffer {
  if (record === undefined) throw corrupt(key, 'it is absent');
  const end = record.length - CRC_BYTES;
  if (end < 0) throw corrupt(key, `it has ${record.length} bytes`);
  const value = record.subarray(0, end);
  if (crc32(value, crc32(key)) !== record.readUInt32BE(end)) {
    throw corrupt(key, 'its checksum does not match');
  }
  return value;
}

export function corrupt(key: Buffer, what: string): KvorumError {
  return new KvorumError('CORRUPT', `redo record ${key.toString('hex')} of a large write: ${what}`);
}
