/** When every partition has all its wanted replicas, caught up: one more disk may be lost. */
import type { ReplicaId } from '../../src/common/ids.ts';
import { keys, type LeaderRecord } from '../../src/meta/schema.ts';
import type { SimCluster } from './cluster.ts';

export function isWhole(cluster: SimCluster): boolean {
  const records = cluster.records();
  if (records.length < cluster.plan.partitions) return false;
  if (cluster.machines.some(({ life, paused }) => !life?.datanode || paused)) return false;
  const running = cluster.machines.flatMap(({ life }) => life?.datanode?.replicas() ?? []);
  return records.every(({ group, namespace, partition, replicas, epoch, rebuilt }) => {
    // one that was rebuilt is filled up, one replica after the other
    if (rebuilt !== undefined && replicas.length < cluster.plan.replicas) return false;
    const item = cluster.meta.items.get(keys.leader(namespace, partition));
    if (item === undefined) return false;
    const { membership } = JSON.parse(item.value) as LeaderRecord;
    if (membership.epoch !== epoch || membership.joint || membership.learners.length > 0) {
      return false;
    }
    const members = replicas.map((wanted) =>
      running.find((replica) => replica.id === wanted.replica && replica.record.group === group),
    );
    const leader = members.find((replica) => replica?.isLeader);
    if (leader === undefined) return false;
    const progress = leader.status().progress;
    return members.every(
      (replica) =>
        replica !== undefined &&
        !replica.stopped &&
        membership.voters.includes(replica.id) &&
        (replica === leader ||
          progress.some(
            (of) => of.replica === replica.id && of.match >= leader.inspect().raft.committed,
          )),
    );
  });
}

/**
 * Every partition has a leader that has committed in its term, on a node that is not `absent`; the
 * voters there follow it, and the store names it. One that stood still may believe it leads yet.
 */
export function isLed(cluster: SimCluster, absent: ReadonlySet<string>): boolean {
  const records = cluster.records();
  const present = cluster.machines.filter(({ name }) => !absent.has(name));
  if (records.length < cluster.plan.partitions || present.some(({ life }) => !life?.datanode)) {
    return false;
  }
  const running = present.flatMap(({ life }) => life?.datanode?.replicas() ?? []);
  return records.every(({ group, namespace, partition }) => {
    const members = running.filter(({ record }) => record.group === group);
    const item = cluster.meta.items.get(keys.leader(namespace, partition));
    const told = item === undefined ? undefined : (JSON.parse(item.value) as LeaderRecord);
    const leader = members.find(({ id, isLeader }) => isLeader && id === told?.replica);
    if (leader === undefined || leader.term !== told?.term) return false;
    const { voters, votersOutgoing } = leader.state.confState;
    const agreed = members
      .filter(({ id }) => voters.includes(id) || votersOutgoing.includes(id))
      .every((of) => of.term === leader.term && of.leader === leader.id);
    const { log } = leader.inspect();
    const committed = log.term(leader.appliedIndex) === leader.term;
    return committed && agreed && [voters, votersOutgoing].every(hasQuorum);

    function hasQuorum(half: readonly ReplicaId[]): boolean {
      const there = members.filter(({ id }) => half.includes(id));
      return half.length === 0 || there.length > half.length / 2;
    }
  });
}

/** What there is of each partition, for the report of one that is not whole. */
export function describe(cluster: SimCluster): string {
  const lines = cluster.records().map(({ partition, epoch, replicas }) => {
    const wanted = replicas.map(({ replica, node }) => `${replica}@${node}`).join(' ');
    const item = cluster.meta.items.get(keys.leader('default', partition));
    return `partition ${partition} epoch ${epoch} wants ${wanted}; reported ${item?.value}`;
  });
  for (const { name, life, paused } of cluster.machines) {
    const { datanode } = life ?? {};
    const state = life === undefined ? 'down' : paused ? 'stopped' : datanode ? 'up' : 'starting';
    lines.push(`${name} ${state} ${JSON.stringify(datanode?.status().faults ?? {})}`);
    for (const replica of datanode?.replicas() ?? []) {
      const { role, hardState, lastIndex, confState } = replica.status();
      const index = `applied ${replica.appliedIndex} commit ${hardState.commit} last ${lastIndex}`;
      const { voters, learners } = confState;
      lines.push(
        `  ${replica.id} ${role} term ${hardState.term} ${index} [${voters}] [${learners}]`,
      );
    }
  }
  return lines.join('\n');
}
