/**
 * Every stored value ends in a CRC-32 over key and value, checked on every read: LevelDB serves
 * flipped bits silently (decision 7d).
 */
import { copyInto, writeU32 } from '../../../common/bytes.ts';
import { crc32 } from '../../../common/checksum.ts';
import { KvorumError } from '../../../common/errors.ts';

export const CRC_BYTES = 4;
const KEY_BYTES_SHOWN = 64;

/** What the engine stores for `value` under `key`. */
export function sealRecord(key: Buffer, value: Buffer): Buffer {
  const record = Buffer.allocUnsafe(value.length + CRC_BYTES);
  copyInto(record, value, 0);
  writeU32(record, crc32(value, crc32(key)), value.length);
  return record;
}

/** The value within `record` (a view); KvorumError CORRUPT when its checksum does not fit. */
export function openRecord(key: Buffer, record: Buffer): Buffer {
  const value = valueIn(key, record);
  if (crc32(value, crc32(key)) === record.readUInt32BE(value.length)) return value;
  throw crcMismatch(key);
}

/** The same, unchecked but for its length. */
export function valueIn(key: Buffer, record: Buffer): Buffer {
  const end = record.length - CRC_BYTES;
  if (end < 0) throw crcMismatch(key);
  return record.subarray(0, end);
}

export function crcMismatch(key: Buffer): KvorumError {
  return corruptRecord(key, 'its checksum does not match');
}

/** Of a record whose checksum matches; `what` completes "record <key>: …". */
export function unknownVersion(
  key: Buffer,
  what: string,
  found: number | undefined,
  known: number,
): KvorumError {
  const text = `${what} of version ${found} unknown`;
  if (found === undefined || found <= known) return corruptRecord(key, text);
  return new KvorumError(
    'TOO_NEW',
    `record ${key.toString('hex')}: ${text}; upgrade kvorum on this node`,
  );
}

/** `what` completes "record <key>: …". */
export function corruptRecord(key: Buffer, what: string): KvorumError {
  const shown = key.subarray(0, KEY_BYTES_SHOWN).toString('hex');
  const cut = key.length > KEY_BYTES_SHOWN ? `… (${key.length} bytes)` : '';
  return new KvorumError(
    'CORRUPT',
    `record ${shown}${cut}: ${what}; this replica's data is damaged: check the disk, ` +
      'then remove the replica so that it is rebuilt from the others',
  );
}
