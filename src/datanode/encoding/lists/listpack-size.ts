/**
 * How many bytes Redis's listpack takes: OBJECT ENCODING of a list depends on it (listpack.c).
 * Nothing is stored in this form here.
 */
import { parseInteger } from '../strings/string.ts';

/** Header and end mark of a listpack. */
export const LISTPACK_FRAME_BYTES = 7;

/** Bytes of an element: what says its kind and length, itself, and its length once more. */
export function listpackEntryBytes(element: Buffer): number {
  const bytes = integerBytes(element) ?? textBytes(element.length);
  return bytes + lengthBytes(bytes);
}

/** Integers in their one canonical form are stored as such; undefined for others. */
function integerBytes(element: Buffer): number | undefined {
  const exact = parseInteger(element);
  if (exact === undefined) return undefined;
  const value = Number(exact);
  if (value >= 0 && value <= 127) return 1;
  for (const [bits, bytes] of INTEGERS) {
    if (value >= -(2 ** (bits - 1)) && value < 2 ** (bits - 1)) return bytes;
  }
  return 9;
}

const INTEGERS = [
  [13, 2],
  [16, 3],
  [24, 4],
  [32, 5],
] as const;

function textBytes(length: number): number {
  if (length < 64) return 1 + length;
  return (length < 4_096 ? 2 : 5) + length;
}

/** Seven bits to a byte. */
function lengthBytes(bytes: number): number {
  if (bytes <= 127) return 1;
  if (bytes < 16_383) return 2;
  if (bytes < 2_097_151) return 3;
  return bytes < 268_435_455 ? 4 : 5;
}
