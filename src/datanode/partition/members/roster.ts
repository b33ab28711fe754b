/**
 * Which replicas a node runs, and which are gone for ever (decision 18); pure. A replica runs when
 * the wanted record names it, or while its group may still count on it. It is retired when a record
 * newer than the one it came from leaves it out, and its group's leader reported members without it
 * that serve that record: the table a node has may be older than its replicas. Or when its group is
 * deleted: a record says so, never that the table lacks the group.
 *
 * A group that lost its quorum and was given up runs nowhere any more. Its survivor goes on in the
 * group that came from it; the others are kept until that group's leader has reported, and retired.
 */
import type { GroupId, Incarnation, NodeId, ReplicaId } from '../../../common/ids.ts';
import type {
  DeletedRecord,
  Membership,
  PartitionRecord,
  ReplicaRecord,
} from '../../../meta/schema.ts';
import type { Origin } from '../host/replica-notes.ts';

export interface RosterInput {
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly records: readonly PartitionRecord[];
  /** What each group's leader reported last. */
  readonly memberships: ReadonlyMap<GroupId, Membership>;
  readonly deletions: readonly DeletedRecord[];
  /** Replicas that this node's log holds, and the record each was made from. */
  readonly held: readonly ReplicaId[];
  readonly origins: ReadonlyMap<ReplicaId, Origin>;
  /** Groups of which a peer said that they were given up: its table is newer than ours. */
  readonly denied?: ReadonlySet<GroupId>;
}

export interface Roster {
  readonly run: ReadonlyMap<GroupId, { readonly record: PartitionRecord; readonly id: ReplicaId }>;
  readonly retired: readonly ReplicaId[];
  /** Groups that were given up: nothing of them runs. */
  readonly former: ReadonlySet<GroupId>;
}

export function planRoster(input: RosterInput): Roster {
  const run = new Map<GroupId, { record: PartitionRecord; id: ReplicaId }>();
  const former = new Set(input.denied);
  for (const { rebuilt } of input.records) {
    for (const group of rebuilt?.formerGroups ?? []) former.add(group);
  }
  for (const record of input.records) {
    if (former.has(record.group) || isDeleted(input, record.group)) continue;
    const id = ownReplica(input, record);
    if (id !== undefined && mayServe(input, record, id)) run.set(record.group, { record, id });
  }
  return { run, retired: input.held.filter((id) => isRetired(input, id)), former };
}

/** Where the replicas that are to be made come from, and those that go over to another group. */
export function newOrigins(
  { run }: Roster,
  held: readonly ReplicaId[],
  known: ReadonlyMap<ReplicaId, Origin>,
): ReadonlyMap<ReplicaId, Origin> {
  const origins = new Map<ReplicaId, Origin>();
  for (const [group, { record, id }] of run) {
    const stays = held.includes(id) && (known.get(id)?.group ?? group) === group;
    if (!stays) origins.set(id, { group, epoch: record.epoch });
  }
  return origins;
}

/** A replica serves its own group, or the one that came from it. */
function mayServe({ origins }: RosterInput, record: PartitionRecord, id: ReplicaId): boolean {
  const origin = origins.get(id)?.group ?? record.group;
  return origin === record.group || isFormer(record, origin);
}

function ownReplica(input: RosterInput, record: PartitionRecord): ReplicaId | undefined {
  const named = record.replicas.find((replica) => isOwn(input, replica));
  if (named !== undefined) return named.replica;
  const membership = input.memberships.get(record.group);
  const born = record.birth.find((replica) => isOwn(input, replica));
  return input.held.find((id) => {
    if (membership !== undefined && isMember(membership, id)) return true;
    if (id !== born?.replica) return false;
    return membership === undefined || !serves(membership, record);
  });
}

function isOwn({ node, incarnation }: RosterInput, replica: ReplicaRecord): boolean {
  return replica.node === node && replica.incarnation === incarnation;
}

/** They are few: one for each namespace that was ever deleted. */
function isDeleted({ deletions }: RosterInput, group: GroupId): boolean {
  return deletions.some(
    ({ firstGroup, groups }) => firstGroup <= group && group < firstGroup + groups,
  );
}

function isRetired(input: RosterInput, id: ReplicaId): boolean {
  const { records, memberships, origins } = input;
  const origin = origins.get(id);
  if (origin === undefined) return false;
  const { group } = origin;
  if (isDeleted(input, group)) return true;
  const record = records.find((of) => of.group === group || isFormer(of, group));
  if (record === undefined || record.epoch <= origin.epoch) return false;
  if (record.replicas.some(({ replica }) => replica === id)) return false;
  const membership = memberships.get(record.group);
  return membership !== undefined && serves(membership, record) && !isMember(membership, id);
}

function isFormer({ rebuilt }: PartitionRecord, group: GroupId): boolean {
  return rebuilt?.formerGroups.includes(group) === true;
}

function isMember({ voters, learners }: Membership, id: ReplicaId): boolean {
  return voters.includes(id) || learners.includes(id);
}

/** The group has the members that `record` wants. */
function serves({ epoch, joint }: Membership, record: PartitionRecord): boolean {
  return epoch >= record.epoch && !joint;
}
