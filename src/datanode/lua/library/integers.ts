/** Numbers as C makes integers of them on the processors that Redis runs on. */

const TWO_63 = 2 ** 63;

/** A 64-bit integer, as a double: what does not fit is the smallest. */
export function toInteger(n: number): number {
  return n > -TWO_63 && n < TWO_63 ? Math.trunc(n) + 0 : -TWO_63;
}

/** The lower 32 bits of that. */
export function toInt(n: number): number {
  return n > -TWO_63 && n < TWO_63 ? n | 0 : 0;
}

/** The same 64 bits without a sign. */
export function toUnsigned(n: number): bigint {
  if (n >= TWO_63) return n < 2 * TWO_63 ? BigInt(Math.trunc(n)) : 0n;
  return BigInt.asUintN(64, BigInt(toInteger(n)));
}
