/** Where a group's replicas are, as far as its wanted record says. Pure. */
import type { PartitionRecord, ReplicaRecord } from '../meta/schema.ts';

/**
 * Every replica that the record says the place of: the wanted ones, those of its birth, and the one
 * that the last move takes away, which is a member until the group has carried the move out. Each
 * once, the wanted ones last.
 */
export function knownReplicas({ birth, replicas, move }: PartitionRecord): ReplicaRecord[] {
  const all = [...birth, ...(move?.from ? [move.from] : []), ...replicas];
  return [...new Map(all.map((one) => [one.replica, one])).values()];
}
