/** Metadata records for tests of routing. */
import { initialSlotRange } from '../../../src/common/hash.ts';
import type { PartitionRecord } from '../../../src/meta/schema.ts';

export function partitionRecord(partition: number, count: number): PartitionRecord {
  const [firstSlot, lastSlot] = initialSlotRange(partition, count);
  return {
    version: 1,
    namespace: 'default',
    partition,
    group: 10 + partition,
    firstSlot,
    lastSlot,
    birth: [],
    replicas: [],
    epoch: 1,
    fence: 1,
  };
}
