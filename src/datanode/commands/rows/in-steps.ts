/** Commands that carry many arguments: each costs microseconds, 100,000 of them the loop. */
import type { Outline } from '../../encoding/keyspace/keyspace.ts';
import { GLANCE, giveWay, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { LARGE_RECORD_BYTES } from '../../encoding/txn/large-records.ts';
import type { Reply } from '../../resp/reply.ts';
import type { RunResult } from './command.ts';

/** So few take a millisecond at most. */
const AT_ONCE_MAX = 256;
/** Arguments worked off before others may have their turn. */
const ARGUMENTS_STEP = 64;

/** Of an item that was looked up: behind one with more, the clock is looked at. */
const HEAVY_BYTES = 65_536;

/** `each` for all items, then `end`: at once where they are few, else giving way in between. */
export function inSteps<T>(
  items: readonly T[],
  each: (item: T) => void,
  end: () => RunResult,
): RunResult {
  if (items.length > AT_ONCE_MAX) return step(items, 0, weightless(each), end);
  for (const item of items) each(item);
  return end();
}

/**
 * The same where an item may have megabytes: `each` says how many bytes it looked up. Few that are as
 * long give way as well.
 */
export function inWeighedSteps<T>(
  items: readonly T[],
  each: (item: T) => number,
  end: () => RunResult,
): RunResult {
  if (items.length > AT_ONCE_MAX) return step(items, 0, each, end);
  let bytes = 0;
  for (let at = 0; at < items.length; at++) {
    if (bytes >= LARGE_RECORD_BYTES) return step(items, at, each, end);
    bytes += each(items[at]!);
  }
  return end();
}

/** Of a key's record, as far as it was read. */
export function weightOf({ stored }: Outline): number {
  return stored !== undefined && 'body' in stored ? stored.body.length : 0;
}

function weightless<T>(each: (item: T) => void): (item: T) => number {
  return (item) => {
    each(item);
    return 0;
  };
}

function* step<T>(
  items: readonly T[],
  from: number,
  each: (item: T) => number,
  end: () => RunResult,
): Slices<Reply> {
  let isHeavy = from > 0;
  for (let at = from; at < items.length; at++) {
    if (at % ARGUMENTS_STEP === ARGUMENTS_STEP - 1) yield* giveWay();
    else if (isHeavy || isGlanceDue(at)) yield GLANCE;
    isHeavy = each(items[at]!) >= HEAVY_BYTES;
  }
  const result = end();
  return 'kind' in result ? result : yield* result;
}
