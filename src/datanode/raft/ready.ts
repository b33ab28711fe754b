/** What the core hands out, and how it is asked: the face of one raft group. */
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import type { ConfChange, ConfState, Entry, HardState, Message, Snapshot } from './message.ts';

export type Role = 'follower' | 'preCandidate' | 'candidate' | 'leader';

export interface SoftState {
  readonly leader: ReplicaId;
  readonly role: Role;
}

/** A read is served once everything up to `index` is applied. */
export interface ReadState {
  /** Every read numbered up to this one is confirmed. */
  readonly readContext: number;
  readonly index: LogIndex;
}

/**
 * One batch of effects. With asynchronous storage `messages` holds storageAppend and storageApply
 * work beside the peer messages, which may all be sent at once; without it the caller persists
 * hardState, snapshot and entries, then sends, applies committedEntries and calls advance().
 */
export interface Ready {
  readonly softState: SoftState | undefined;
  readonly hardState: HardState | undefined;
  readonly readStates: readonly ReadState[];
  readonly entries: readonly Entry[];
  readonly snapshot: Snapshot | undefined;
  readonly committedEntries: readonly Entry[];
  readonly messages: readonly Message[];
  readonly mustSync: boolean;
}

export type Refusal =
  | 'not-leader'
  | 'transferring'
  | 'uncommitted-limit'
  | 'removed'
  | 'conf-change-pending'
  /** It does not fit the configuration: leaves what is not joint, removes every voter, … */
  | 'conf-change-invalid'
  /** It makes a voter of a replica that holds nothing yet: without a configuration it cannot vote. */
  | 'voter-not-ready';
export type ProposeResult =
  | { readonly ok: true; readonly term: Term; readonly index: LogIndex }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * What became of a message: handled or rightly ignored (`ok`); an answer from a replica that is no
 * member; a proposal that found no leader or was refused; a message for another replica.
 */
export type StepResult = 'ok' | 'unknown-peer' | 'proposal-dropped' | 'foreign';

export type ProgressState = 'probe' | 'replicate' | 'snapshot';

export interface ProgressStatus {
  readonly replica: ReplicaId;
  readonly state: ProgressState;
  readonly match: LogIndex;
  readonly next: LogIndex;
  readonly learner: boolean;
  readonly recentActive: boolean;
  readonly heardLately: boolean;
  readonly paused: boolean;
  readonly pendingSnapshot: LogIndex;
  readonly inflight: number;
  readonly inflightFull: boolean;
}

export interface RaftStatus {
  readonly id: ReplicaId;
  readonly role: Role;
  readonly leader: ReplicaId;
  readonly hardState: HardState;
  readonly applied: LogIndex;
  readonly lastIndex: LogIndex;
  readonly confState: ConfState;
  readonly leadTransferee: ReplicaId;
  /** Empty unless leader. Ids ascend. */
  readonly progress: readonly ProgressStatus[];
}

/** One replica of one raft group. Nothing here blocks or waits; only leases read a clock. */
export interface RaftNode {
  /** One unit of logical time. */
  tick(): void;
  /** A message from a peer, or a storage response. Stale or foreign ones are ignored. */
  step(message: Message): StepResult;
  /** Leader only: appends one entry per element; the result names the first one's index. */
  propose(data: readonly Uint8Array[]): ProposeResult;
  /** Leader only. A new replica is added as learner first, and made a voter when it has caught up. */
  proposeConfChange(change: ConfChange): ProposeResult;
  /**
   * Called by apply for every committed confChange entry, in order (empty data: leave joint).
   * Returns the configuration as of that entry. Entries that a snapshot has overtaken (index at or
   * below the installed snapshot's) are not applied, and not given to this.
   */
  applyConfChange(change: ConfChange): ConfState;
  /**
   * Leader only: asks that leadership be confirmed for reads that arrived up to now. Returns the
   * number to wait for in Ready.readStates, or undefined when this node does not lead. Calls
   * before an entry of the leader's term is committed wait for it.
   */
  requestRead(): number | undefined;
  /**
   * Leader only: the index at which reads may be served without a round, because `voter` sent them here
   * and had this term when it did. Undefined when that is not enough.
   */
  vouchedReadIndex(voter: ReplicaId): LogIndex | undefined;
  /**
   * Follower only: asks the leader for a read index. Returns the number to wait for in
   * Ready.readStates (a newer one may come instead of it), or undefined when no leader is known.
   * The request or its answer may be lost.
   */
  requestReadFromLeader(): number | undefined;
  /** Does nothing while a promise of a lease holds. */
  campaign(): void;
  transferLeader(to: ReplicaId): void;
  /** Does nothing while a promise of a lease holds. */
  forgetLeader(): void;
  /** Milliseconds until no promise of a lease holds any more. */
  readonly promiseLeftMs: number;
  /** Somebody else asked a member to campaign in this leader's name: it has no lease from now on. */
  banLease(): void;
  reportUnreachable(replica: ReplicaId): void;
  reportSnapshot(replica: ReplicaId, outcome: 'sent' | 'failed'): void;
  /** Appends that nobody waits for were not sent yet: `sendLateAppends` is to be called soon. */
  readonly hasLateAppends: boolean;
  sendLateAppends(): void;
  hasReady(): boolean;
  ready(): Ready;
  /** Synchronous storage only. */
  advance(): void;
  /** Cheap: what hot paths need. */
  readonly term: Term;
  readonly role: Role;
  readonly leader: ReplicaId;
  readonly committed: LogIndex;
  readonly lastIndex: LogIndex;
  /** The snapshot that was accepted and is not in storage yet: the very object of its message. */
  readonly pendingSnapshot: Snapshot | undefined;
  /** Election and heartbeat time begin anew, as if the leader had just been heard from. */
  restartTimers(): void;
  /** Replaces the drawn election timeout until the next change of role or term. */
  setRandomizedElectionTicks(ticks: number): void;
  status(): RaftStatus;
}
