/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78): the checksum of LevelDB's files. LevelDB
 * stores it masked, because a CRC over data that holds CRCs is weak.
 */
import { crcTable, slicedCrc } from '../../common/sliced-crc.ts';

const MASK_DELTA = 0xa282ead8;
const table = crcTable(0x82f63b78);

/** CRC-32C of bytes[start, end), continued from `seed` (the value of a previous call, or 0). */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  return slicedCrc(table, bytes, start, end, seed);
}

/** The form in which LevelDB stores a CRC. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

export function unmaskCrc(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}
