/** Settings of one raft replica. Times are ticks; sizes are bytes of entry data. */

import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import type { RaftStorage } from './storage.ts';

/** What happened inside, as data: for logs, transcripts and the simulator's checkers. */
export interface RaftTrace {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface RaftConfig {
  readonly id: ReplicaId;
  readonly storage: RaftStorage;
  readonly random: Random;
  /** Election timeout is drawn from [electionTicks, 2 × electionTicks). */
  readonly electionTicks: number;
  readonly heartbeatTicks: number;
  /** Last index the state machine has applied; 0 for a new replica. */
  readonly applied: LogIndex;
  readonly asyncStorageWrites: boolean;
  readonly preVote: boolean;
  readonly checkQuorum: boolean;
  readonly stepDownOnRemoval: boolean;
  readonly readOnly: 'safe' | 'lease';
  /** Who is asked to confirm a round of reads: `all` members (default), or only a `quorum`. */
  readonly readFanout?: 'all' | 'quorum' | undefined;
  readonly disableProposalForwarding: boolean;
  readonly disableConfChangeValidation: boolean;
  readonly messageBytesMax: number;
  /** Bytes of committed entries handed out per Ready, and outstanding in apply. */
  readonly committedBytesMax: number;
  readonly uncommittedBytesMax: number;
  readonly inflightMessagesMax: number;
  readonly inflightBytesMax: number;
  /**
   * Ticks after the start during which this replica neither votes (except for a transfer) nor
   * campaigns by itself: electionTicks for a restarted voter where readOnly is `lease`, because it
   * has forgotten whom it promised a lease. Default 0.
   */
  readonly restartHoldTicks?: number | undefined;
  readonly trace?: ((event: RaftTrace) => void) | undefined;
}
