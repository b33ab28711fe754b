/**
 * Whether a group may be given up and rebuilt, and from what. Pure. Refused while a quorum of its
 * voters is on living nodes: they may have acknowledged what the survivor lacks.
 */
import { KvorumError } from '../../common/errors.ts';
import type { Incarnation, NodeId, ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { LeaderRecord, PartitionRecord, ReplicaRecord } from '../../meta/schema.ts';
import { isWhole } from '../known-replicas.ts';

export interface RebuildView {
  readonly record: PartitionRecord;
  /** What the group's leader reported last. */
  readonly leader: LeaderRecord | undefined;
  /** The registered nodes among those that `membersOf` names. */
  readonly alive: ReadonlyMap<NodeId, Incarnation>;
  readonly damaged: ReadonlySet<ReplicaId>;
  readonly survivor: NodeId;
}

export interface RebuildPlan {
  readonly survivor: ReplicaRecord;
  readonly lost: readonly ReplicaRecord[];
}

/** Every replica that may hold something of the group. */
export function membersOf(
  { birth, replicas, move, rebuilt }: PartitionRecord,
  leader: LeaderRecord | undefined,
): ReplicaRecord[] {
  // until the rebuilt group has a leader, nothing of the former one is destroyed
  const former = leader === undefined ? (rebuilt?.lost ?? []) : [];
  const voters = leader?.membership.voters;
  // what the last move takes away votes until the group has carried the move out
  const leaving = move?.from && (voters?.includes(move.from.replica) ?? true) ? [move.from] : [];
  const all = [...former, ...birth, ...leaving, ...replicas];
  return [...new Map(all.map((of) => [of.replica, of])).values()];
}

/** Undefined: that is what the record wants already. Throws CONFLICT: why not, and what to do. */
export function planRebuild(view: RebuildView): RebuildPlan | undefined {
  const { record, leader } = view;
  const members = membersOf(record, leader);
  const rebuilding = record.rebuilt !== undefined && leader === undefined;
  if (rebuilding && record.birth[0]?.node === view.survivor) return undefined;
  if ((record.rebuilt?.formerGroups.length ?? 0) >= limits.metaRebuildsMax) {
    throw conflict(view, `it was rebuilt ${limits.metaRebuildsMax} times; make a new namespace`);
  }
  checkQuorumLost(view, members, rebuilding);
  const survivor = survivorOf(view, members);
  return { survivor, lost: members.filter(({ replica }) => replica !== survivor.replica) };
}

function checkQuorumLost(
  view: RebuildView,
  members: readonly ReplicaRecord[],
  rebuilding: boolean,
): void {
  const voters = votersOf(view);
  const whole = members.filter(
    (member) => voters.includes(member.replica) && isWhole(member, view),
  );
  const joint = view.leader?.membership.joint === true;
  const quorum = joint ? whole.length * 2 >= voters.length : whole.length * 2 > voters.length;
  if (!quorum || isLeftOfTwo(view, whole, voters)) return;
  const nodes = whole.map(({ node }) => node).join(', ');
  if (rebuilding) {
    throw conflict(view, `it is being rebuilt from ${nodes}: stop that node if it cannot be`);
  }
  throw conflict(
    view,
    `a quorum of its replicas lives (${nodes}): wait for them to elect a leader; ` +
      'if they cannot, stop those that are to be given up',
  );
}

/**
 * The replica that a group began with, and that stays, while it alone is left of two voters and the
 * members change: as after a rebuild. It is of both halves, so the other is no quorum now nor when it
 * comes back. That this one is none either its leader may not have told, and nobody could stop it.
 */
function isLeftOfTwo(
  { record: { birth, replicas } }: RebuildView,
  whole: readonly ReplicaRecord[],
  voters: readonly ReplicaId[],
): boolean {
  const [left] = whole;
  if (voters.length !== 2 || whole.length !== 1) return false;
  return [birth, replicas].every((of) => of.some(({ replica }) => replica === left!.replica));
}

function survivorOf(view: RebuildView, members: readonly ReplicaRecord[]): ReplicaRecord {
  const { survivor: node, alive, damaged } = view;
  const voters = votersOf(view);
  const there = members.filter((member) => member.node === node);
  const found = there.find(({ replica }) => voters.includes(replica)) ?? there[0];
  if (found === undefined) {
    const nodes = members.map((member) => member.node).join(', ');
    throw conflict(view, `node ${node} holds no replica of it; those that do: ${nodes}`);
  }
  const incarnation = alive.get(node);
  if (incarnation === undefined) throw conflict(view, `node ${node} is not alive: start it`);
  if (incarnation !== found.incarnation) {
    const text = `node ${node} came back as another incarnation, without the data`;
    throw conflict(view, `${text}: name a node that kept its disk`);
  }
  if (damaged.has(found.replica)) {
    throw conflict(view, `the replica of node ${node} is damaged: name another node`);
  }
  const better = members.find((of) => voters.includes(of.replica) && isWhole(of, view));
  if (!voters.includes(found.replica) && better !== undefined) {
    const text = `the replica of node ${node} was only being filled`;
    throw conflict(view, `${text}: name ${better.node}, which voted`);
  }
  return found;
}

/** As last reported; a group that never reported has those of its birth. */
function votersOf({ record, leader }: RebuildView): readonly ReplicaId[] {
  return leader?.membership.voters ?? record.birth.map(({ replica }) => replica);
}

function conflict({ record }: RebuildView, why: string): KvorumError {
  const name = `${record.namespace}/${record.partition}`;
  return new KvorumError('CONFLICT', `partition ${name} is not rebuilt: ${why}`);
}
