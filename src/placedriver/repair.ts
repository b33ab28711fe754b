/**
 * Which replicas are to be replaced on their own node (decision 18): those whose node came back as
 * a new incarnation, and those that their node reports as damaged. One per group at a time, and
 * only while the other members hold a quorum. Pure.
 */
import type { Incarnation, NodeId, ReplicaId } from '../common/ids.ts';
import type {
  DamageRecord,
  LeaderRecord,
  NodeRecord,
  PartitionRecord,
  ReplicaRecord,
} from '../meta/schema.ts';
import { knownReplicas, waitsForLost } from './known-replicas.ts';

export interface RepairView<P extends { readonly record: PartitionRecord }> {
  readonly partitions: readonly P[];
  readonly alive: readonly NodeRecord[];
  readonly damages: readonly DamageRecord[];
  leader(record: PartitionRecord): LeaderRecord | undefined;
}

export interface Repair<P> {
  readonly partition: P;
  readonly lost: ReplicaRecord;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly why: string;
}

export function planRepairs<P extends { readonly record: PartitionRecord }>(
  view: RepairView<P>,
): Repair<P>[] {
  const alive = new Map(view.alive.map(({ node, incarnation }) => [node, incarnation]));
  const damaged = new Map(view.damages.map(({ replica, reason }) => [replica, reason]));
  const repairs: Repair<P>[] = [];
  for (const partition of view.partitions) {
    const repair = planRepair(partition, view.leader(partition.record), alive, damaged);
    if (repair !== undefined) repairs.push(repair);
  }
  return repairs;
}

function planRepair<P extends { readonly record: PartitionRecord }>(
  partition: P,
  leader: LeaderRecord | undefined,
  alive: ReadonlyMap<NodeId, Incarnation>,
  damaged: ReadonlyMap<ReplicaId, string>,
): Repair<P> | undefined {
  const { record } = partition;
  for (const lost of record.replicas) {
    const incarnation = alive.get(lost.node);
    if (incarnation === undefined) continue; // its node is away: it may come back with its data
    const damage = damaged.get(lost.replica);
    const wiped = incarnation !== lost.incarnation;
    if (!wiped && damage === undefined) continue;
    if (!mayReplace(record, lost, leader, alive, damaged)) continue;
    const why = damage ?? `its node came back as incarnation ${incarnation}`;
    return { partition, lost, node: lost.node, incarnation, why };
  }
  return undefined;
}

/** The change before is done, or was for the replica that is lost now; and the others can decide. */
function mayReplace(
  record: PartitionRecord,
  lost: ReplicaRecord,
  leader: LeaderRecord | undefined,
  alive: ReadonlyMap<NodeId, Incarnation>,
  damaged: ReadonlyMap<ReplicaId, string>,
): boolean {
  if (leader === undefined) return false;
  const { voters, learners, joint, epoch } = leader.membership;
  const settled = epoch >= record.epoch && !joint && learners.length === 0;
  const member = voters.includes(lost.replica);
  const whole = (replica: ReplicaRecord) =>
    alive.get(replica.node) === replica.incarnation && !damaged.has(replica.replica);
  // a replica that was to fill a place, and is lost before it votes, is replaced without waiting, as
  // is one that the change before waits for
  const waiting = member && !waitsForLost(record, leader, whole);
  if (!settled && (waiting || joint)) return false;
  const known = new Map(knownReplicas(record).map((one) => [one.replica, one]));
  const deciding = voters.filter((id) => {
    const replica = known.get(id);
    return replica !== undefined && id !== lost.replica && whole(replica);
  });
  return deciding.length > voters.length / 2;
}
