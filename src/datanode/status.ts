/** What a datanode tells of its replicas: `kvorum status`, INFO and the HTTP door read it. */
import type { Readiness } from '../common/http/probe-routes.ts';
import type { GroupId, Namespace, NodeId, ReplicaId } from '../common/ids.ts';
import type { LibraryCounts, PartitionInfo } from './commands/rows/node-context.ts';
import { libraryTotals } from './encoding/scripts/kept-libraries.ts';
import { createView } from './encoding/txn/txn.ts';
import type { PartitionHost } from './partition/host/host.ts';
import type { Replica } from './partition/replica/replica.ts';

export interface ReplicaStatus {
  readonly namespace: string;
  readonly partition: number;
  readonly group: number;
  readonly node: NodeId;
  readonly replica: ReplicaId;
  /** `learner`: it does not vote (yet). */
  readonly role: string;
  readonly leader: NodeId | null;
  readonly term: number;
  readonly commit: number;
  readonly applied: number;
  readonly lastIndex: number;
  readonly state: string;
  /** Its group is idle: nothing ticks there until something comes (decision 19). */
  readonly asleep: boolean;
  /** How reads are confirmed. */
  readonly reads: 'linearizable' | 'lease';
  /** What the leader knows of each member; elsewhere `match` is 0. */
  readonly members: readonly {
    readonly node: NodeId;
    readonly id: ReplicaId;
    readonly match: number;
  }[];
}

export function replicaStatuses(node: NodeId, host: PartitionHost): ReplicaStatus[] {
  return host
    .replicas()
    .map((replica) => replicaStatus(node, replica, host))
    .sort((a, b) =>
      a.namespace === b.namespace ? a.partition - b.partition : a.namespace < b.namespace ? -1 : 1,
    );
}

function replicaStatus(node: NodeId, replica: Replica, host: PartitionHost): ReplicaStatus {
  const status = replica.status();
  const { replicas, namespace, partition, group } = host.recordOf(replica);
  const progress = new Map(status.progress.map((of) => [of.replica, of]));
  return {
    namespace,
    partition,
    group,
    node,
    replica: replica.id,
    role: status.confState.voters.includes(replica.id) ? status.role : 'learner',
    leader: replicas.find((member) => member.replica === status.leader)?.node ?? null,
    term: status.hardState.term,
    commit: status.hardState.commit,
    applied: replica.appliedIndex,
    lastIndex: status.lastIndex,
    state: 'running',
    asleep: replica.asleep,
    reads: host.reads(namespace),
    members: replicas.map((member) => ({
      node: member.node,
      id: member.replica,
      match: progress.get(member.replica)?.match ?? 0,
    })),
  };
}

/**
 * Ready: the node has its table, its replicas are open and it knows every leader. A replica that
 * stopped after a fault is a reason to look, not to send clients elsewhere: others hold its data.
 */
export function readiness(
  opened: boolean,
  leaderless: readonly { readonly namespace: string; readonly partition: number }[],
  faults: ReadonlyMap<GroupId, string>,
): Readiness {
  const reasons = [
    ...(opened ? [] : ['the partition table is not here yet, or its replicas are being opened']),
    ...leaderless.map(({ namespace, partition }) => `${namespace}/${partition} has no leader`),
  ];
  const limping = [...faults].map(([group, why]) => `a replica of group ${group} stopped: ${why}`);
  return { ready: reasons.length === 0, reasons: [...reasons, ...limping] };
}

export function partitionInfos(node: NodeId, host: PartitionHost): PartitionInfo[] {
  return replicaStatuses(node, host).map(
    ({ namespace, partition, group, role, term, commit, applied, leader, asleep, reads }) => ({
      namespace,
      partition,
      group,
      role,
      term,
      commit,
      applied,
      leader: leader ?? undefined,
      lag: Math.max(0, commit - applied),
      asleep,
      reads,
    }),
  );
}

export type KeyCounts = ReadonlyMap<Namespace, { readonly keys: number; readonly expires: number }>;

/** Keys, and those with a deadline, of the partitions this node leads. */
export function keyCounts(host: Pick<PartitionHost, 'replicas'>): KeyCounts {
  const counts = new Map<Namespace, { keys: number; expires: number }>();
  for (const replica of host.replicas()) {
    if (!replica.isLeader) continue;
    const sum = counts.get(replica.namespace) ?? { keys: 0, expires: 0 };
    const { keys, expires } = replica.counts();
    counts.set(replica.namespace, { keys: sum.keys + keys, expires: sum.expires + expires });
  }
  return counts;
}

/** What this node knows of a namespace's libraries, which all of its partitions have: one that it leads, if any. */
export function libraryCounts(
  host: Pick<PartitionHost, 'replicas'>,
  namespace: Namespace,
): LibraryCounts | undefined {
  const own = host.replicas().filter((replica) => replica.namespace === namespace);
  const replica = own.find(({ isLeader }) => isLeader) ?? own[0];
  return replica && libraryTotals(createView(replica.inspect().engine));
}
