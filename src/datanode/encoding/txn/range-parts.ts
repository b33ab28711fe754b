/** A range that is read slice by slice, in either direction. */
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import { keyAfter } from '../records/key.ts';

/** A slice of a range that is being put together. */
export interface Filling {
  /** What is to be looked at yet. */
  range: KeyRange;
  left: number;
  bytes: number;
  readonly pairs: KeyValue[];
}

/** The part of `range` that a slice ending with `last` covers. */
export function upTo(range: KeyRange, last: Buffer | undefined): KeyRange {
  if (last === undefined) return range;
  return range.reverse ? { ...range, gte: last } : { ...range, lt: keyAfter(last) };
}

/** The part of `range` that a slice ending with `last` leaves. */
export function beyond(range: KeyRange, last: Buffer): KeyRange {
  return range.reverse ? { ...range, lt: last } : { ...range, gte: keyAfter(last) };
}
