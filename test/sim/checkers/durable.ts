/**
 * An entry is durable on a quorum of its configuration at the moment it commits; what a log has
 * reported durable of term, vote and commit never goes back, over restarts too.
 */
import type { LogIndex, ReplicaId } from '../../../src/common/ids.ts';
import type { HardState } from '../../../src/datanode/raft/message.ts';
import type { SimCluster } from '../cluster.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function durableChecker(): Checker {
  const committed = new WeakMap<object, LogIndex>();
  const promised = new Map<ReplicaId, HardState>();

  const checkPromise = ({ replica, node }: Observed, cluster: SimCluster) => {
    const durable = cluster.durable.replicas.get(replica.id);
    // that it has gone back is no news: others judge what it does then
    if (durable === undefined || cluster.durable.isSetBack(replica.id)) return;
    const before = promised.get(replica.id);
    const { term, vote, commit } = durable;
    const { log, raft } = replica.inspect();
    const { hardState } = log;
    const back =
      before !== undefined &&
      (hardState.term < before.term ||
        raft.committed < before.commit ||
        (hardState.term === before.term && before.vote !== 0 && hardState.vote !== before.vote));
    if (back) {
      const was = `term ${before.term} vote ${before.vote} commit ${before.commit}`;
      const now = `term ${hardState.term} vote ${hardState.vote} commit ${raft.committed}`;
      const text = `${node} replica ${replica.id}: ${was} was durable, now ${now}`;
      throw new Violation('durable', text);
    }
    promised.set(replica.id, { term, vote, commit });
  };

  const checkQuorum = ({ group, replica, node }: Observed, cluster: SimCluster) => {
    const { raft, log } = replica.inspect();
    const index = raft.committed;
    if (raft.role !== 'leader' || index <= (committed.get(replica) ?? 0)) return;
    committed.set(replica, index);
    const term = log.term(index);
    if (typeof term !== 'number') return;
    const { voters, votersOutgoing } = raft.status().confState;
    for (const half of [voters, votersOutgoing]) {
      const holders = half.filter((voter) => cluster.durable.holds(voter, index, term));
      if (half.length === 0 || holders.length > half.length / 2) continue;
      const text = `group ${group}: ${node} commits ${index} (term ${term}), durable on ${holders} of ${half}`;
      throw new Violation('durable', text);
    }
  };

  return {
    name: 'durable',
    onMoved(observed, cluster) {
      const [lie] = cluster.durable.lies;
      if (lie !== undefined) throw new Violation('durable', lie);
      checkPromise(observed, cluster);
      checkQuorum(observed, cluster);
    },
  };
}
