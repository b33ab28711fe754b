/**
 * Who is missing at first when faults are over: as many nodes, in a drawn order, as leave every group
 * a quorum. What remains is a random quorum of each group, and must do without the others.
 */
import type { GroupId, ReplicaId } from '../../src/common/ids.ts';
import { seededRandom } from '../../src/common/random.ts';
import { keys, type LeaderRecord, type PartitionRecord } from '../../src/meta/schema.ts';
import type { SimCluster } from './cluster.ts';
import type { Absence } from './plan.ts';

/** Names of those that stay away; `draw` says in which order nodes are looked at. */
export function drawAbsent(cluster: SimCluster, draw: number): ReadonlySet<string> {
  const absent = new Set<string>();
  const random = seededRandom(`absent ${draw}`);
  const quorums = quorumsOf(cluster);
  const names = cluster.machines.map(({ name }) => name);
  while (names.length > 0) {
    const [name] = names.splice(random.below(names.length), 1);
    absent.add(name!);
    if (!quorums.every((hold) => hold(absent))) absent.delete(name!);
  }
  return absent;
}

/** Those nodes are away from now on, all the others are well. Returns what brings them back. */
export function beginAbsence(
  cluster: SimCluster,
  absent: ReadonlySet<string>,
  how: Absence['how'],
): () => void {
  const names = cluster.machines.map(({ name }) => name);
  for (const name of names) {
    cluster.resume(name);
    if (absent.has(name) && how === 'power') cluster.crash(name, 'power');
    else cluster.start(name);
  }
  for (const name of absent) {
    cluster.note(`${name} stays away: ${how}`);
    if (how === 'pause') cluster.pause(name);
    if (how === 'cut') {
      cluster.network.partition(
        [name],
        names.filter((other) => other !== name),
      );
    }
  }
  return () => {
    cluster.network.healAll();
    for (const name of absent) {
      cluster.resume(name);
      cluster.start(name);
    }
  };
}

type Hold = (absent: ReadonlySet<string>) => boolean;

/**
 * For each configuration a group may be in, as far as anybody tells, whether a majority of it is
 * there and has lost nothing. A replica that nobody knows the node of has been destroyed.
 */
function quorumsOf(cluster: SimCluster): readonly Hold[] {
  const running = runningReplicas(cluster);
  return cluster.records().flatMap((record) => {
    const nodes = new Map(record.birth.map(({ replica, node }) => [replica, node as string]));
    for (const { replica, node } of record.replicas) nodes.set(replica, node);
    const here = running.filter(({ group }) => group === record.group);
    for (const { id, node } of here) nodes.set(id, node);
    const told = reportedVoters(cluster, record);
    const wanted = record.replicas.map(({ replica }) => replica);
    const configurations = [wanted, told, ...here.flatMap(({ halves }) => halves)];
    return configurations
      .filter((voters) => voters.length > 0)
      .map((voters): Hold => {
        return (absent) => {
          const there = voters.filter((id) => {
            const node = nodes.get(id);
            return node !== undefined && !absent.has(node) && !cluster.machine(node).spoiled;
          });
          return there.length > voters.length / 2;
        };
      });
  });
}

interface RunningReplica {
  readonly id: ReplicaId;
  readonly group: GroupId;
  readonly node: string;
  /** Of its configuration; one of them is empty unless it is joint. */
  readonly halves: readonly (readonly ReplicaId[])[];
}

function runningReplicas({ machines }: SimCluster): RunningReplica[] {
  return machines.flatMap(({ name, life }) =>
    (life?.datanode?.replicas() ?? []).map(({ id, record, state }) => ({
      id,
      group: record.group,
      node: name,
      halves: [state.confState.voters, state.confState.votersOutgoing],
    })),
  );
}

function reportedVoters(
  cluster: SimCluster,
  { namespace, partition }: PartitionRecord,
): readonly ReplicaId[] {
  const item = cluster.meta.items.get(keys.leader(namespace, partition));
  return item === undefined ? [] : (JSON.parse(item.value) as LeaderRecord).membership.voters;
}
