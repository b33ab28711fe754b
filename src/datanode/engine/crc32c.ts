/**
 * CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), eight bytes at a step: the checksum of
 * LevelDB's files. LevelDB stores it masked, because a CRC over data that holds CRCs is weak.
 */
const POLYNOMIAL = 0x82f63b78;
const MASK_DELTA = 0xa282ead8;

/** Table k (256 entries from k × 256) advances a byte by k further zero bytes. */
const tables = buildTables();

/** CRC-32C of bytes[start, end), continued from `seed` (the value of a previous call, or 0). */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length, seed = 0): number {
  const t = tables;
  let crc = ~seed;
  let at = start;
  for (const lastStep = end - 8; at <= lastStep; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t[1792 + (crc & 0xff)]! ^
      t[1536 + ((crc >>> 8) & 0xff)]! ^
      t[1280 + ((crc >>> 16) & 0xff)]! ^
      t[1024 + (crc >>> 24)]! ^
      t[768 + bytes[at + 4]!]! ^
      t[512 + bytes[at + 5]!]! ^
      t[256 + bytes[at + 6]!]! ^
      t[bytes[at + 7]!]!;
  }
  for (; at < end; at++) crc = (crc >>> 8) ^ t[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}

/** The form in which LevelDB stores a CRC. */
export function maskCrc(crc: number): number {
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0;
}

export function unmaskCrc(masked: number): number {
  const rotated = (masked - MASK_DELTA) >>> 0;
  return ((rotated >>> 17) | (rotated << 15)) >>> 0;
}

function buildTables(): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    table[byte] = crc;
  }
  for (let at = 256; at < table.length; at++) {
    const previous = table[at - 256]!;
    table[at] = (previous >>> 8) ^ table[previous & 0xff]!;
  }
  return table;
}
