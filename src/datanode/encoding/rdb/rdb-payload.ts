/**
 * The envelope of DUMP: type and value, then the version of the RDB format (u16) and the CRC-64
 * (u64) of all before it, both little-endian.
 */

import { eachItem, giveWay, type Slices } from '../steps/slices.ts';
import { crc64 } from './crc64.ts';

/** Versions of the RDB format. */
export const rdbVersions = {
  /** Any Redis from 5.0 on reads what is written with it. */
  plain: 9,
  /** Redis 7.2's: no field of a hash has a deadline. */
  withoutFieldDeadlines: 11,
  /** Redis 7.4's. */
  withFieldDeadlines: 12,
} as const;

const VERSION_BYTES = 2;
const CRC_BYTES = 8;
/** Bytes copied at once: new memory costs more than the copy, half a millisecond in all. */
const COPIED_BYTES = 1_048_576;

/** `parts`: type and value; `version`: of the RDB format that has both. */
export function* sealRdbPayload(
  parts: Iterable<Buffer>,
  version: number = rdbVersions.plain,
): Slices<Buffer> {
  let length = 0;
  yield* eachItem(parts, (part) => {
    length += part.length;
  });
  // to read a large value was a turn's work
  yield* giveWay();
  const payload = Buffer.allocUnsafeSlow(length + VERSION_BYTES + CRC_BYTES);
  yield* joinInto(payload, parts);
  payload.writeUInt16LE(version, length);
  const body = payload.subarray(0, payload.length - CRC_BYTES);
  payload.set(yield* crc64(body), body.length);
  return payload;
}

/** Copies `parts` one behind the other to the beginning of `payload`. */
function* joinInto(payload: Buffer, parts: Iterable<Buffer>): Slices<void> {
  let at = 0;
  let left = COPIED_BYTES;
  for (const part of parts) {
    for (let from = 0; from < part.length; ) {
      const copied = part.copy(payload, at, from, Math.min(part.length, from + left));
      from += copied;
      at += copied;
      left -= copied;
      if (left > 0) continue;
      left = COPIED_BYTES;
      yield* giveWay();
    }
  }
}

/** The version of the RDB format that a payload names, right or wrong; 0: it is too short. */
export function rdbVersionOf(payload: Buffer): number {
  const versionAt = payload.length - CRC_BYTES - VERSION_BYTES;
  return versionAt < 0 ? 0 : payload.readUInt16LE(versionAt);
}

/** Type and value (a view); undefined when the checksum is wrong, or the version above the given one. */
export function* openRdbPayload(payload: Buffer, versionMax: number): Slices<Buffer | undefined> {
  const crcAt = payload.length - CRC_BYTES;
  const versionAt = crcAt - VERSION_BYTES;
  if (versionAt < 0 || rdbVersionOf(payload) > versionMax) return undefined;
  const sum = yield* crc64(payload.subarray(0, crcAt));
  if (!sum.equals(payload.subarray(crcAt))) return undefined;
  return payload.subarray(0, versionAt);
}
