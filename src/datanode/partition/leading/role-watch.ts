/** Notices that a replica's role or its leader changed, and tells who has to act on it. */
import type { ReplicaId, Term } from '../../../common/ids.ts';
import type { CatchingUp, Membership } from '../../../meta/schema.ts';
import type { RaftNode, RaftStatus, Role } from '../../raft/ready.ts';
import type { RoleNews } from '../replica/replica-world.ts';

export interface RoleWatchGround {
  readonly raft: RaftNode;
  membership(): Membership;
  /** Of the snapshot that is being sent to `replica`, 0 to 1. */
  share(replica: ReplicaId): number | undefined;
  onLead(): void;
  /** It led, and does so no longer. */
  onStepDown(): void;
  onRole(news: RoleNews): void;
}

export class RoleWatch {
  readonly #ground: RoleWatchGround;
  #leader: ReplicaId = 0;
  #role: Role = 'follower';
  /** Told last. */
  #term: Term = 0;

  constructor(ground: RoleWatchGround) {
    this.#ground = ground;
  }

  /** After whatever may have changed the role. */
  notice(): void {
    const { role, leader } = this.#ground.raft;
    if (role === this.#role && leader === this.#leader) return;
    const led = this.#role === 'leader';
    this.#role = role;
    this.#leader = leader;
    if (role === 'leader') this.#ground.onLead();
    else if (led) this.#ground.onStepDown();
    this.tell();
  }

  /** Also when the members changed, or how far one of them is. */
  tell(): void {
    const { raft, membership, share, onRole } = this.#ground;
    this.#term = raft.term;
    onRole({
      leader: this.#leader,
      term: this.#term,
      own: this.#role === 'leader',
      membership: membership(),
      catchingUp: catchingUp(raft.status(), share),
    });
  }

  /**
   * The replica failed, and has no turn any more in which it would notice: if it was told that it
   * leads, nobody does so in that term now. The core is not asked, it may be what failed.
   */
  lose(): void {
    if (this.#role !== 'leader') return;
    this.#role = 'follower';
    this.#leader = 0;
    const { membership, onRole } = this.#ground;
    const lost = { leader: this.#leader, term: this.#term, own: false };
    onRole({ ...lost, membership: membership(), catchingUp: [] });
  }
}

/** The leader's learners, and how far they are. */
function catchingUp(
  { progress, lastIndex }: RaftStatus,
  share: RoleWatchGround['share'],
): CatchingUp[] {
  return progress
    .filter(({ learner }) => learner)
    .map(({ replica, match }) => {
      const snapshot = share(replica);
      return { replica, match, last: lastIndex, ...(snapshot !== undefined && { snapshot }) };
    });
}
