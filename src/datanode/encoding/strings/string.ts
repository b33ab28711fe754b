/** Strings: integers within them, slices, edits. Pure over bytes. */

import { findKey, type Outline, storeKey } from '../keyspace/keyspace.ts';
import type { StringOrigin } from '../records/header.ts';
import type { View, WriteView } from '../txn/view.ts';

export const INT64_MAX = 2n ** 63n - 1n;
export const INT64_MIN = -(2n ** 63n);

const INT64_CHARACTERS_MAX = 20;
/** So many digits always fit a safe integer. */
const SMALL_DIGITS_MAX = 15;
const [ZERO, NINE, MINUS] = [0x30, 0x39, 0x2d];

/** Stores a string; `deadlineMs` 0: none. */
export function storeString(
  view: WriteView,
  found: Outline,
  body: Buffer,
  deadlineMs: number,
  origin: StringOrigin = 'set',
): void {
  storeKey(view, found, { type: 'string', deadlineMs, origin, body });
}

/** The live string under `key`; undefined when absent, `wrong-type` when it is something else. */
export function readString(
  view: View,
  key: Buffer,
  nowMs: number,
): Buffer | undefined | 'wrong-type' {
  const { live } = findKey(view, key, nowMs);
  if (live === undefined) return undefined;
  return live.type === 'string' ? live.body : 'wrong-type';
}

/**
 * The 64-bit integer that `bytes` spell in its one canonical form (no plus, space or leading zero);
 * a number when short, a bigint otherwise.
 */
export function parseInteger(bytes: Buffer): number | bigint | undefined {
  const { length } = bytes;
  const negative = bytes[0] === MINUS;
  const start = negative ? 1 : 0;
  const digits = length - start;
  if (digits < 1 || length > INT64_CHARACTERS_MAX) return undefined;
  if (bytes[start] === ZERO && (digits > 1 || negative)) return undefined;
  let value = 0;
  for (let at = start; at < length; at++) {
    const byte = bytes[at]!;
    if (byte < ZERO || byte > NINE) return undefined;
    value = value * 10 + (byte - ZERO);
  }
  if (digits <= SMALL_DIGITS_MAX) return negative ? -value : value;
  const exact = BigInt(bytes.toString('latin1'));
  return exact >= INT64_MIN && exact <= INT64_MAX ? exact : undefined;
}

/** Sum of two 64-bit integers; undefined when it is none. */
export function addIntegers(a: number | bigint, b: number | bigint): number | bigint | undefined {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  const sum = BigInt(a) + BigInt(b);
  return sum >= INT64_MIN && sum <= INT64_MAX ? sum : undefined;
}

/** Bytes `start` to `end`, both inclusive; negative ones count from the end. Beyond: cut. */
export function sliceString(bytes: Buffer, start: number | bigint, end: number | bigint): Buffer {
  const { length } = bytes;
  if (start < 0 && end < 0 && start > end) return Buffer.alloc(0);
  const from = start < 0 ? Math.max(0, length + Number(start)) : Number(start);
  const last = end < 0 ? Math.max(0, length + Number(end)) : Math.min(Number(end), length - 1);
  return from > last || length === 0 ? Buffer.alloc(0) : bytes.subarray(from, last + 1);
}

/** `bytes` with `patch` written at `offset`; a gap is filled with zero bytes. */
export function patchString(bytes: Buffer, offset: number, patch: Buffer): Buffer {
  const patched = Buffer.alloc(Math.max(bytes.length, offset + patch.length));
  patched.set(bytes);
  patched.set(patch, offset);
  return patched;
}
