/** Settings of one raft replica. Times are ticks; sizes are bytes of entry data. */

import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import type { LeaseConfig } from './lease.ts';
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
  /** Reads need no round while a lease runs. Needs `checkQuorum`. */
  readonly lease?: LeaseConfig | undefined;
  /** Who is asked to confirm a round of reads: `all` members (default), or only a `quorum`. */
  readonly readFanout?: 'all' | 'quorum' | undefined;
  /** Who is sent appends at once: `all` members (default), or only a `quorum` (`fanout.ts`). */
  readonly appendFanout?: 'all' | 'quorum' | undefined;
  /**
   * Of the other voters, who have `raced`, these `finished` first; returns as many of them, who are
   * sent appends at once from now on. Those who finished, when absent.
   */
  readonly judgeRace?:
    | ((raced: readonly ReplicaId[], finished: readonly ReplicaId[]) => readonly ReplicaId[])
    | undefined;
  readonly disableProposalForwarding: boolean;
  readonly disableConfChangeValidation: boolean;
  readonly messageBytesMax: number;
  /** Bytes of committed entries handed out per Ready, and outstanding in apply. */
  readonly committedBytesMax: number;
  readonly uncommittedBytesMax: number;
  readonly inflightMessagesMax: number;
  readonly inflightBytesMax: number;
  readonly trace?: ((event: RaftTrace) => void) | undefined;
}
