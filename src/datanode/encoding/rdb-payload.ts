/**
 * The envelope of DUMP: type and value, then the version of the RDB format (u16) and the CRC-64
 * (u64) of all before it, both little-endian.
 */
import { crc64 } from './crc64.ts';
import { giveWay, type Slices } from './slices.ts';

/** Any Redis from 5.0 on reads what is written with it. */
const WRITTEN_VERSION = 9;
/** Redis 7.2's. */
const READ_VERSION_MAX = 11;
const VERSION_BYTES = 2;
const CRC_BYTES = 8;

/** `parts`: type and value. */
export function* sealRdbPayload(parts: readonly Buffer[]): Slices<Buffer> {
  const version = Buffer.alloc(VERSION_BYTES);
  version.writeUInt16LE(WRITTEN_VERSION);
  // to read a large value was a turn's work, and so is to copy it
  yield* giveWay();
  const payload = Buffer.concat([...parts, version, Buffer.alloc(CRC_BYTES)]);
  yield* giveWay();
  const body = payload.subarray(0, payload.length - CRC_BYTES);
  payload.set(yield* crc64(body), body.length);
  return payload;
}

/** Type and value (a view); undefined when version or checksum are wrong. */
export function* openRdbPayload(payload: Buffer): Slices<Buffer | undefined> {
  const crcAt = payload.length - CRC_BYTES;
  const versionAt = crcAt - VERSION_BYTES;
  if (versionAt < 0 || payload.readUInt16LE(versionAt) > READ_VERSION_MAX) return undefined;
  const sum = yield* crc64(payload.subarray(0, crcAt));
  if (!sum.equals(payload.subarray(crcAt))) return undefined;
  return payload.subarray(0, versionAt);
}
