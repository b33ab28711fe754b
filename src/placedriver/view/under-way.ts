/**
 * Moves as they can be seen: where the wanted record of a partition and the members its leader
 * reports are not the same. Pure.
 */
import type { NodeId, ReplicaId } from '../../common/ids.ts';
import type { CatchingUp, LeaderRecord, PartitionRecord } from '../../meta/schema.ts';
import { isSettled } from '../balance/group-states.ts';
import { knownReplicas } from '../known-replicas.ts';
import type { Picture } from '../picture.ts';

export interface Move {
  readonly namespace: string;
  readonly partition: number;
  /** The replica that comes, and the one that goes: either may be missing. */
  readonly arriving: ReplicaId | undefined;
  readonly leaving: ReplicaId | undefined;
  /** Undefined: nobody goes, or the records do not say any more where it was. */
  readonly from: NodeId | undefined;
  readonly to: NodeId | undefined;
  /**
   * `waiting`: the group has not begun; `learning`: the new replica is sent the data; `switching`: the
   * members change; `removing`: the old one is about to go.
   */
  readonly phase: 'waiting' | 'learning' | 'switching' | 'removing';
  /** What asked for it; undefined: a replica is replaced where it is. */
  readonly why?: string | undefined;
  /** The master's wall clock. */
  readonly sinceMs?: number | undefined;
  /** Of the snapshot that is on its way, or else of the log, 0 to 1; undefined: nobody is filled. */
  readonly progress: number | undefined;
}

/**
 * Nodes that a partition has on its hands: those that should hold a replica, and those whose replica
 * its group still counts on. None of the others is needed by it.
 */
export function nodesNeeded(
  record: PartitionRecord,
  leader: LeaderRecord | undefined,
): Set<NodeId> {
  const nodes = new Set(record.replicas.map(({ node }) => node));
  const members = leader && [...leader.membership.voters, ...leader.membership.learners];
  for (const { replica, node } of knownReplicas(record)) {
    // until a leader tells the members, all that there may be count
    if (members === undefined || members.includes(replica)) nodes.add(node);
  }
  return nodes;
}

export function movesUnderWay(picture: Picture): Move[] {
  return picture.shownPartitions().flatMap((record) => {
    const leader = picture.leader(record);
    return leader === undefined || isSettled(record, leader) ? [] : movesOf(record, leader);
  });
}

function movesOf(record: PartitionRecord, leader: LeaderRecord): Move[] {
  const { namespace, partition, replicas, move } = record;
  const { membership, catchingUp } = leader;
  const { voters, learners, joint } = membership;
  const wanted = new Set(replicas.map(({ replica }) => replica));
  const nodeOf = new Map(knownReplicas(record).map(({ replica, node }) => [replica, node]));
  const leaving = [...voters, ...learners].filter((member) => !wanted.has(member));
  // ids grow: while both halves decide, the newest are those that came
  const newest = [...wanted].sort((a, b) => b - a).slice(0, leaving.length);
  const arriving = joint ? newest : [...wanted].filter((replica) => !voters.includes(replica));
  return Array.from({ length: Math.max(arriving.length, leaving.length) }, (_, at) => {
    const come = arriving[at];
    const go = leaving[at];
    return {
      namespace,
      partition,
      arriving: come,
      leaving: go,
      from: go === undefined ? undefined : nodeOf.get(go),
      to: come === undefined ? undefined : nodeOf.get(come),
      phase: phaseOf(come, joint, learners),
      // a repair where the replica is leaves the move that was asked for last
      ...(move?.to?.replica === come && { why: move?.why, sinceMs: move?.sinceMs }),
      progress: progressOf(catchingUp?.find(({ replica }) => replica === come)),
    };
  });
}

function phaseOf(
  arriving: ReplicaId | undefined,
  joint: boolean,
  learners: readonly ReplicaId[],
): Move['phase'] {
  if (joint) return 'switching';
  if (arriving === undefined) return 'removing';
  return learners.includes(arriving) ? 'learning' : 'waiting';
}

function progressOf(learner: CatchingUp | undefined): number | undefined {
  if (learner?.snapshot !== undefined) return learner.snapshot;
  if (learner === undefined || learner.match === 0) return undefined;
  return learner.last === 0 ? 1 : learner.match / learner.last;
}
