/** CRC-32 (IEEE 802.3 polynomial, as zlib): the checksum of our own records and frames. */
import { crc32 as zlibCrc32 } from 'node:zlib';

/** CRC-32 of `bytes`, continued from `seed` (the value of a previous call, or 0). Unsigned. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  return zlibCrc32(bytes, seed);
}
