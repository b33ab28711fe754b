/**
 * No change of members takes a group's quorum away: at every moment most voters of the newest
 * configuration (of both, while it is joint) are replicas that were neither wiped nor removed.
 * A group that an operator has given up, or deleted with its namespace, decides nothing any more.
 */
import type { GroupId } from '../../../src/common/ids.ts';
import type { ReplicaState } from '../../../src/datanode/partition/storage/state.ts';
import { type Checker, type Observed, Violation } from './checker.ts';

export function quorumChecker(): Checker {
  const newest = new Map<GroupId, ReplicaState>();
  return {
    name: 'quorum',
    onMoved({ group, replica }: Observed, cluster) {
      if (cluster.deletedGroups.has(group)) return;
      const known = newest.get(group);
      if (known !== undefined && known.index > replica.state.index) return;
      newest.set(group, replica.state);
      const { voters, votersOutgoing } = replica.state.confState;
      for (const half of [voters, votersOutgoing]) {
        const intact = half.filter((voter) => cluster.durable.isIntact(voter));
        if (half.length === 0 || intact.length > half.length / 2) continue;
        if (cluster.records().some(({ rebuilt }) => rebuilt?.formerGroups.includes(group))) return;
        const text = `group ${group}: of voters ${half} only ${intact} are left`;
        throw new Violation('quorum', text);
      }
    },
  };
}
