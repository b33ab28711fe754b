/**
 * Which replicas are to be replaced on their own node (decision 18): those whose node came back as
 * a new incarnation, and those that their node reports as damaged. One per group at a time, and
 * only while the other members hold a quorum; a few on each node, so that a node that came back with
 * thousands keeps no others waiting, the groups with the fewest living members first. Pure.
 */
import type { Incarnation, NodeId, ReplicaId } from '../common/ids.ts';
import type {
  DamageRecord,
  LeaderRecord,
  NodeRecord,
  PartitionRecord,
  ReplicaRecord,
} from '../meta/schema.ts';
import { isWhole, knownReplicas, refillsOf, waitsForLost } from './known-replicas.ts';

export interface RepairView<P extends { readonly record: PartitionRecord }> {
  readonly partitions: readonly P[];
  readonly alive: readonly NodeRecord[];
  readonly damages: readonly DamageRecord[];
  /** Replicas that are replaced at the same time on one node. */
  readonly atOnceMax: number;
  leader(record: PartitionRecord): LeaderRecord | undefined;
}

export interface Repair<P> {
  readonly partition: P;
  readonly lost: ReplicaRecord;
  readonly node: NodeId;
  readonly incarnation: Incarnation;
  readonly why: string;
  /** Members that the group has beside it. */
  readonly living: number;
}

/** Those to be begun now. */
export function planRepairs<P extends { readonly record: PartitionRecord }>(
  view: RepairView<P>,
): Repair<P>[] {
  const nodes: Nodes = {
    alive: new Map(view.alive.map(({ node, incarnation }) => [node, incarnation])),
    damaged: new Map(view.damages.map(({ replica, reason }) => [replica, reason])),
  };
  const underWay = new Map<NodeId, number>();
  const count = (node: NodeId) => underWay.set(node, (underWay.get(node) ?? 0) + 1);
  const repairs: Repair<P>[] = [];
  for (const partition of view.partitions) {
    const leader = view.leader(partition.record);
    if (leader === undefined) continue;
    const repair = planRepair(partition, leader, nodes);
    if (repair !== undefined) repairs.push(repair);
    const coming = refillsOf(partition.record, leader).filter((one) => isWhole(one, nodes));
    for (const { node } of coming) count(node);
  }
  repairs.sort((a, b) => a.living - b.living);
  return repairs.filter(({ node }) => {
    const begins = (underWay.get(node) ?? 0) < view.atOnceMax;
    if (begins) count(node);
    return begins;
  });
}

/** Nodes that live, with their incarnations, and replicas that are damaged, with the reasons. */
interface Nodes {
  readonly alive: ReadonlyMap<NodeId, Incarnation>;
  readonly damaged: ReadonlyMap<ReplicaId, string>;
}

function planRepair<P extends { readonly record: PartitionRecord }>(
  partition: P,
  leader: LeaderRecord,
  nodes: Nodes,
): Repair<P> | undefined {
  const { record } = partition;
  const { alive, damaged } = nodes;
  for (const lost of record.replicas) {
    const incarnation = alive.get(lost.node);
    if (incarnation === undefined) continue; // its node is away: it may come back with its data
    const damage = damaged.get(lost.replica);
    const wiped = incarnation !== lost.incarnation;
    if (!wiped && damage === undefined) continue;
    const deciding = decidingWithout(record, lost, leader, nodes);
    if (!mayReplace(record, lost, leader, deciding, nodes)) continue;
    const why = damage ?? `its node came back as incarnation ${incarnation}`;
    return { partition, lost, node: lost.node, incarnation, why, living: deciding };
  }
  return undefined;
}

/** The change before is done, or was for the replica that is lost now; and the others can decide. */
function mayReplace(
  record: PartitionRecord,
  lost: ReplicaRecord,
  leader: LeaderRecord,
  deciding: number,
  nodes: Nodes,
): boolean {
  const { voters, learners, joint, epoch } = leader.membership;
  const settled = epoch >= record.epoch && !joint && learners.length === 0;
  const member = voters.includes(lost.replica);
  // a replica that was to fill a place, and is lost before it votes, is replaced without waiting, as
  // is one that the change before waits for
  const waiting = member && !waitsForLost(record, leader, (one) => isWhole(one, nodes));
  if (!settled && (waiting || joint)) return false;
  return deciding > voters.length / 2;
}

/** Members that are whole, beside the lost one. */
function decidingWithout(
  record: PartitionRecord,
  lost: ReplicaRecord,
  { membership: { voters } }: LeaderRecord,
  nodes: Nodes,
): number {
  const known = new Map(knownReplicas(record).map((one) => [one.replica, one]));
  return voters.filter((id) => {
    const replica = known.get(id);
    return replica !== undefined && id !== lost.replica && isWhole(replica, nodes);
  }).length;
}
