/** What requests need of their replica, and of the node around it. */
import type { Clock } from '../../../common/clock.ts';
import type { Random } from '../../../common/random.ts';
import type { RaftNode } from '../../raft/ready.ts';
import type { EntriesGround } from '../applying/recent-entries.ts';
import type { Companion } from '../proposing/cohort.ts';
import type { ReadGround } from '../reading/reads.ts';
import type { ReplicaState } from '../storage/state.ts';
import type { ChangesRoom } from '../waiting/followed-changes.ts';
import type { MemberBuilds } from './replica-world.ts';

export interface RequestGround extends Omit<ReadGround, 'draw'>, EntriesGround, MemberBuilds {
  readonly clock: Clock;
  readonly random: Random;
  readonly raft: RaftNode;
  readonly cohort: Companion;
  readonly changesRoom?: ChangesRoom;
  applied(): ReplicaState;
  /** The group is needed, should it be asleep. */
  wake(): void;
  /** What reads of a follower see; see Expiry. */
  readTimeMs(): number | undefined;
  /** Somebody waits for entries that are committed and not applied yet. */
  hurry(): void;
  /** Asks for `flush` at the end of this turn. */
  requestTurn(): void;
}
