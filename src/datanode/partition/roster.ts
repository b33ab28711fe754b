/**
 * Which replicas a node runs, and which are gone for ever (decision 18); pure. A replica runs when
 * the wanted record names it, or while its group may still count on it. It is retired when its
 * group's leader reported members without it that serve the newest record.
 */
import type { GroupId, Incarnation, NodeId, ReplicaId } from '../../common/ids.ts';
import type { Membership, PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';

export interface RosterInput {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly records: readonly PartitionRecord[];
  /** What each group's leader reported last. */
  readonly memberships: ReadonlyMap<GroupId, Membership>;
  /** Replicas that this node's log holds. */
  readonly held: readonly ReplicaId[];
}

export interface Roster {
  readonly run: ReadonlyMap<GroupId, { readonly record: PartitionRecord; readonly id: ReplicaId }>;
  readonly retired: readonly ReplicaId[];
}

export function planRoster(input: RosterInput): Roster {
  const run = new Map<GroupId, { record: PartitionRecord; id: ReplicaId }>();
  for (const record of input.records) {
    const id = ownReplica(input, record);
    if (id !== undefined) run.set(record.group, { record, id });
  }
  return { run, retired: input.held.filter((id) => isRetired(input, id)) };
}

function ownReplica(input: RosterInput, record: PartitionRecord): ReplicaId | undefined {
  const named = record.replicas.find((replica) => isOwn(input, replica));
  if (named !== undefined) return named.replica;
  const membership = input.memberships.get(record.group);
  const born = record.birth.find((replica) => isOwn(input, replica));
  return input.held.find((id) => {
    if (membership !== undefined && isMember(membership, id)) return true;
    return id === born?.replica && !serves(membership, record);
  });
}

function isOwn({ node, incarnation }: RosterInput, replica: ReplicaRecord): boolean {
  return replica.node === node && replica.incarnation === incarnation;
}

function isRetired({ records, memberships }: RosterInput, id: ReplicaId): boolean {
  if (records.length === 0) return false;
  if (records.some(({ replicas }) => replicas.some(({ replica }) => replica === id))) return false;
  for (const membership of memberships.values()) if (isMember(membership, id)) return false;
  // Its group is known when it was there from birth; otherwise every group may be the one.
  const birth = records.find((record) => record.birth.some(({ replica }) => replica === id));
  const groups = birth === undefined ? records : [birth];
  return groups.every((record) => serves(memberships.get(record.group), record));
}

function isMember({ voters, learners }: Membership, id: ReplicaId): boolean {
  return voters.includes(id) || learners.includes(id);
}

/** The group has the members that `record` wants. */
function serves(membership: Membership | undefined, record: PartitionRecord): boolean {
  return membership !== undefined && membership.epoch >= record.epoch && !membership.joint;
}
