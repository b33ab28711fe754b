/** Hash tags by which a client chooses the partition that its keys are in. */
import { initialSlotRange, slotOfKey } from '../src/common/hash.ts';
import type { PartitionId } from '../src/common/ids.ts';

const TRIED_MAX = 1_000_000;

/** A tag for each of the `wanted` partitions of a namespace that was made with `count` of them. */
export function tagsOf(wanted: readonly number[], count: number): readonly string[] {
  const tags = new Map<number, string>();
  const ranges = wanted.map((partition) => initialSlotRange(partition as PartitionId, count));
  for (let at = 0; tags.size < wanted.length && at < TRIED_MAX; at++) {
    const slot = slotOfKey(Buffer.from(`t${at}`));
    const found = ranges.findIndex(([first, last]) => first <= slot && slot <= last);
    if (found >= 0 && !tags.has(found)) tags.set(found, `t${at}`);
  }
  return wanted.map((_, at) => tags.get(at)!);
}
