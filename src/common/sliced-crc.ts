/**
 * CRCs of 32 bits over a reflected polynomial, eight bytes at a step ("slicing by 8": Kounavis and
 * Berry, 2005). Of short inputs it is done before a call into native code has begun.
 */

const STEP = 8;

/**
 * The CRC of `bytes` from `from` to `to`, continued from `seed` (the value of a call before, or 0),
 * with a table of `crcTable`. Unsigned; inverted at both ends, as zlib and LevelDB have theirs.
 */
export function slicedCrc(
  table: Int32Array,
  bytes: Uint8Array,
  from: number,
  to: number,
  seed: number,
): number {
  let crc = ~seed;
  let at = from;
  for (const lastStep = to - STEP; at <= lastStep; at += STEP) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      table[0x700 + (crc & 0xff)]! ^
      table[0x600 + ((crc >>> 8) & 0xff)]! ^
      table[0x500 + ((crc >>> 16) & 0xff)]! ^
      table[0x400 + (crc >>> 24)]! ^
      table[0x300 + bytes[at + 4]!]! ^
      table[0x200 + bytes[at + 5]!]! ^
      table[0x100 + bytes[at + 6]!]! ^
      table[bytes[at + 7]!]!;
  }
  for (; at < to; at++) crc = table[(crc ^ bytes[at]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Its part k (256 entries from k × 256 on) advances a byte by k further zero bytes. */
export function crcTable(polynomial: number): Int32Array {
  const table = new Int32Array(STEP * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at++) {
    const before = table[at - 256]!;
    table[at] = (before >>> 8) ^ table[before & 0xff]!;
  }
  return table;
}
