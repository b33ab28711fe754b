/** What the sleep watch is told of the replicas of a node that sleep. */
import type { GroupId } from '../../../common/ids.ts';
import type { ReplicaSet } from '../host/replica-set.ts';
import type { MemberNodes } from '../members/member-nodes.ts';
import type { Replica } from '../replica/replica.ts';
import type { Sleeper } from './sleep-watch.ts';

/** The replicas of a node that sleep. */
export function* sleepersOf(set: ReplicaSet, members: MemberNodes): Generator<Sleeper> {
  for (const [group, replica] of set.entries()) {
    if (replica.asleep) yield sleeperOf(group, replica, members);
  }
}

function sleeperOf(group: GroupId, replica: Replica, members: MemberNodes): Sleeper {
  const { voters, learners } = replica.state.confState;
  return {
    group,
    term: replica.term,
    leads: replica.isLeader,
    leaderNode: members.nodeOf(group, replica.leader),
    memberNodes: () =>
      [...voters, ...learners]
        .filter((id) => id !== replica.id)
        .map((id) => members.nodeOf(group, id)),
    wake: () => replica.wake(),
  };
}
