/** A place in a string as scripts give it: from 1, or counted from the end where it is negative. */
export function position(at: number, length: number): number {
  return Math.max(at < 0 ? at + length + 1 : at, 0);
}
