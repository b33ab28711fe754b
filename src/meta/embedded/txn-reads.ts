/** What the reads of one transaction look at, so that a small request cannot ask for everything 128 times. */
import { limits } from '../../common/limits.ts';
import type { KeySpace } from './key-space.ts';
import type { RangeRequest } from './messages.ts';
import { StateError } from './state-error.ts';

/** Revisions, version and lease of an item, and what one costs that is only counted. */
const ITEM_BYTES = 64;

/**
 * Throws when they come to too much; a read that is alone may look at all there is. `events` would be
 * undone for a read of the past.
 */
export function checkTxnReads(
  reads: readonly RangeRequest[],
  keys: KeySpace,
  events: number,
): void {
  if (reads.length < 2) return;
  let left: number = limits.metaTxnReadBytesMax;
  for (const { key, rangeEnd, revision, keysOnly, countOnly } of reads) {
    if (revision > 0) left -= events * ITEM_BYTES;
    for (const item of keys.range(key, rangeEnd)) {
      left -= ITEM_BYTES;
      if (!countOnly) left -= item.key.length + (keysOnly ? 0 : item.value.length);
      if (left < 0) break;
    }
    if (left < 0) throw new StateError('reads-too-large');
  }
}
