/** Ranges in the words of classic-level. */
import type { KeyRange } from './engine.ts';

/** classic-level takes a limit for 32 bits with a sign: what lies beyond would wrap around, 2³² to 0. */
const LIMIT_MAX = 2 ** 31 - 1;
/** No limit. */
const ALL = -1;

/** Of an iterator, or of a clearing. */
export function rangeOptions(range: KeyRange): {
  gte: Buffer;
  lt: Buffer;
  reverse: boolean;
  limit: number;
} {
  const { gte, lt, reverse = false, limit = ALL } = range;
  return { gte, lt, reverse, limit: limit > LIMIT_MAX ? ALL : limit };
}
