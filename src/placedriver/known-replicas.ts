/** Where a group's replicas are, as far as its wanted record says, and what becomes of it. Pure. */
import type { Incarnation, NodeId, ReplicaId } from '../common/ids.ts';
import type { LeaderRecord, PartitionRecord, ReplicaRecord } from '../meta/schema.ts';

/**
 * Every replica that the record says the place of: the wanted ones, those of its birth, and the one
 * that the last move takes away, which is a member until the group has carried the move out. Each
 * once, the wanted ones last.
 */
export function knownReplicas({ birth, replicas, move }: PartitionRecord): ReplicaRecord[] {
  const all = [...birth, ...(move?.from ? [move.from] : []), ...replicas];
  return [...new Map(all.map((one) => [one.replica, one])).values()];
}

interface Losses {
  /** The nodes that live, and in which life. */
  readonly alive: ReadonlyMap<NodeId, Incarnation>;
  readonly damaged: { has(replica: ReplicaId): boolean };
}

/** On a living node that has not lost it. */
export function isWhole(
  { node, incarnation, replica }: ReplicaRecord,
  { alive, damaged }: Losses,
): boolean {
  return alive.get(node) === incarnation && !damaged.has(replica);
}

/**
 * Replicas that are to come in the place of lost ones, on the same nodes: neither birth nor a move
 * names them, and no move is under way.
 */
export function refillsOf(
  { birth, replicas, move }: PartitionRecord,
  { membership: { voters } }: LeaderRecord,
): ReplicaRecord[] {
  if (move?.from !== undefined && voters.includes(move.from.replica)) return [];
  const named = new Set([...birth, ...(move?.to ? [move.to] : [])].map(({ replica }) => replica));
  return replicas.filter(({ replica }) => !voters.includes(replica) && !named.has(replica));
}

/**
 * All that are wanted are members, another only has to go, and those that would stay could not decide
 * without what is lost of them: the group waits until these are whole, or others are wanted instead.
 */
export function waitsForLost(
  { replicas }: PartitionRecord,
  { membership: { voters, joint } }: LeaderRecord,
  isWhole: (replica: ReplicaRecord) => boolean,
): boolean {
  if (joint || replicas.some(({ replica }) => !voters.includes(replica))) return false;
  return replicas.filter(isWhole).length <= replicas.length / 2;
}
