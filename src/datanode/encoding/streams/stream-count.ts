/** Counts of streams that clients may set to any number (XSETID, XGROUP, XCLAIM). */

/** The next one; the greatest there is stays: it could not be written down, on any replica. */
export function oneMore(count: number): number {
  return Math.min(count + 1, Number.MAX_SAFE_INTEGER);
}
