/**
 * Members of this node's groups whose nodes said that they are not there: each is told of once, and
 * its node is asked, until it has answered, why. What is known of a group goes with it.
 */
import type { GroupId, NodeId, ReplicaId } from '../../../common/ids.ts';
import type { Asked } from './standing.ts';

/** Of one group: with more of them it begins anew, and each is told of once more. */
const GONE_MAX = 64;

export class GoneMembers {
  readonly #askWhy: (node: NodeId, asked: Asked) => Promise<boolean>;
  readonly #groups = new Map<GroupId, Map<ReplicaId, 'asked' | 'unanswered'>>();

  /** `askWhy` resolves to whether the node answered. */
  constructor(askWhy: (node: NodeId, asked: Asked) => Promise<boolean>) {
    this.#askWhy = askWhy;
  }

  /** `node` says that the replica is not there; true when it was not known. */
  isNew(node: NodeId, asked: Asked): boolean {
    const members = this.#membersOf(asked.group);
    const known = members.get(asked.replica);
    if (known === 'asked') return false;
    members.set(asked.replica, 'asked');
    void this.#askWhy(node, asked).then((answered) => {
      if (!answered) members.set(asked.replica, 'unanswered');
    });
    return known === undefined;
  }

  /** The group runs here no more. */
  forget(group: GroupId): void {
    this.#groups.delete(group);
  }

  #membersOf(group: GroupId): Map<ReplicaId, 'asked' | 'unanswered'> {
    let members = this.#groups.get(group);
    if (members === undefined || members.size >= GONE_MAX) {
      members = new Map();
      this.#groups.set(group, members);
    }
    return members;
  }
}
