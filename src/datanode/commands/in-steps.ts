/** Commands that carry many arguments: each costs microseconds, 100,000 of them the loop. */
import { GLANCE, giveWay, isGlanceDue, type Slices } from '../encoding/slices.ts';
import type { Reply } from '../resp/reply.ts';
import type { RunResult } from './command.ts';

/** So few take a millisecond at most. */
const AT_ONCE_MAX = 256;
/** Arguments worked off before others may have their turn. */
const ARGUMENTS_STEP = 64;

/** `each` for all items, then `end`: at once where they are few, else giving way in between. */
export function inSteps<T>(
  items: readonly T[],
  each: (item: T) => void,
  end: () => RunResult,
): RunResult {
  if (items.length > AT_ONCE_MAX) return step(items, each, end);
  for (const item of items) each(item);
  return end();
}

function* step<T>(
  items: readonly T[],
  each: (item: T) => void,
  end: () => RunResult,
): Slices<Reply> {
  for (let at = 0; at < items.length; at++) {
    if (at % ARGUMENTS_STEP === ARGUMENTS_STEP - 1) yield* giveWay();
    else if (isGlanceDue(at)) yield GLANCE;
    each(items[at]!);
  }
  const result = end();
  return 'kind' in result ? result : yield* result;
}
