/**
 * What the raft core reads and writes: entries, configurations, and messages. Pure data.
 *
 * Messages to and from `APPEND_THREAD` and `APPLY_THREAD` never leave the node: they are the work
 * the core hands to its storage, and the storage's answers (asynchronous storage, thesis 10.2.1).
 */
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';

/** Addresses of the local storage threads; no replica has these ids. */
export const APPEND_THREAD: ReplicaId = Number.MAX_SAFE_INTEGER;
export const APPLY_THREAD: ReplicaId = Number.MAX_SAFE_INTEGER - 1;
/** No replica: "no leader", "no vote". */
export const NONE: ReplicaId = 0;

export type EntryKind = 'normal' | 'confChange' | 'confChangeV2';

export interface Entry {
  readonly term: Term;
  readonly index: LogIndex;
  readonly kind: EntryKind;
  /** Empty for the no-op of a new leader and for "leave the joint configuration". */
  readonly data: Uint8Array;
}

/** Must be durable before any message that depends on it leaves. `vote` NONE: none cast. */
export interface HardState {
  readonly term: Term;
  readonly vote: ReplicaId;
  readonly commit: LogIndex;
}

/** A configuration; `votersOutgoing` is not empty while it is joint. Ids ascend. */
export interface ConfState {
  readonly voters: readonly ReplicaId[];
  readonly votersOutgoing: readonly ReplicaId[];
  readonly learners: readonly ReplicaId[];
  readonly learnersNext: readonly ReplicaId[];
  readonly autoLeave: boolean;
}

export interface SnapshotMeta {
  readonly index: LogIndex;
  readonly term: Term;
  readonly confState: ConfState;
}

/** `data` is opaque to the core (empty in the datanode, which streams snapshots beside raft). */
export interface Snapshot extends SnapshotMeta {
  readonly data: Uint8Array;
}

export type ConfChangeStep = {
  readonly kind: 'addVoter' | 'addLearner' | 'remove' | 'update';
  readonly replica: ReplicaId;
};

/** `auto`: joint only when needed; `implicit`: joint, left by itself; `explicit`: joint, left on demand. */
export interface ConfChange {
  readonly transition: 'auto' | 'implicit' | 'explicit';
  readonly steps: readonly ConfChangeStep[];
  /** Opaque to the core: which wanted record it serves (`partition/entries/served-epoch.ts`). */
  readonly context: Uint8Array;
}

interface Envelope {
  readonly from: ReplicaId;
  readonly to: ReplicaId;
  /** 0 for messages that carry no term (local ones, proposals, read requests). */
  readonly term: Term;
}

/**
 * The last entry its sender knows to be committed. That is a fact about the log, not about a term:
 * whoever holds the same entry may count it and all before it as committed.
 */
export interface CommitMark {
  readonly commit: LogIndex;
  /** 0: not known. */
  readonly commitTerm: Term;
}

/** Messages between replicas. */
export type PeerMessage =
  | (Envelope & {
      readonly type: 'append';
      /** The entry before `entries`. */
      readonly index: LogIndex;
      readonly logTerm: Term;
      readonly entries: readonly Entry[];
      readonly commit: LogIndex;
    })
  | (Envelope & {
      readonly type: 'appendResponse';
      readonly index: LogIndex;
      readonly logTerm: Term;
      readonly reject: boolean;
      readonly rejectHint: LogIndex;
      readonly commit: LogIndex;
    })
  | (Envelope & {
      readonly type: 'heartbeat';
      readonly commit: LogIndex;
      /** Number of the newest read this round confirms; 0: none. */
      readonly readContext: number;
    })
  | (Envelope & {
      readonly type: 'heartbeatResponse';
      readonly readContext: number;
      /** Its sender helps no other leader for a while: see lease.ts. */
      readonly promised?: true;
    })
  | (Envelope &
      CommitMark & {
        readonly type: 'vote' | 'preVote';
        readonly index: LogIndex;
        readonly logTerm: Term;
        /** The campaign follows a leader transfer: leases do not refuse it. */
        readonly transfer: boolean;
      })
  | (Envelope &
      CommitMark & {
        readonly type: 'voteResponse' | 'preVoteResponse';
        readonly reject: boolean;
      })
  | (Envelope & { readonly type: 'snapshot'; readonly snapshot: Snapshot })
  | (Envelope & { readonly type: 'timeoutNow' })
  | (Envelope & { readonly type: 'forgetLeader' })
  | (Envelope & { readonly type: 'transferLeader' })
  | (Envelope & { readonly type: 'propose'; readonly entries: readonly ProposedEntry[] })
  | (Envelope & { readonly type: 'readIndex'; readonly readContext: number })
  | (Envelope & {
      readonly type: 'readIndexResponse';
      readonly readContext: number;
      readonly index: LogIndex;
    });

/**
 * A node's answer to a message for a replica it does not have and never will have under that id
 * (decision 18). It is between nodes: the core never sees it.
 */
export type GoneNotice = Envelope & { readonly type: 'gone' };

/** Between replicas of one group, beside the core: falling asleep together (decision 19). */
export type SleepMessage =
  | (Envelope & { readonly type: 'sleep'; readonly index: LogIndex; readonly commit: LogIndex })
  | (Envelope & { readonly type: 'asleep'; readonly index: LogIndex; readonly reject: boolean });

/** Between nodes: how many groups sleep that the sender leads with a member there, and which. */
export type SleepersMessage = Envelope & {
  readonly type: 'sleepers';
  readonly count: number;
  readonly digest: number;
};

/** What a frame between nodes may hold. */
export type WireMessage = PeerMessage | GoneNotice | SleepMessage | SleepersMessage;

export interface ProposedEntry {
  readonly kind: EntryKind;
  readonly data: Uint8Array;
}

/** Work for, and answers from, the node's own storage. */
export type StorageMessage =
  | (Envelope & {
      /** Append `entries`, save `hardState`, install `snapshot`; when durable, deliver `responses`. */
      readonly type: 'storageAppend';
      readonly entries: readonly Entry[];
      readonly hardState: HardState | undefined;
      readonly snapshot: Snapshot | undefined;
      readonly responses: readonly Message[];
    })
  | (Envelope & {
      readonly type: 'storageAppendResponse';
      /** The last entry written (0: none) and its term, as the core attached them. */
      readonly index: LogIndex;
      readonly logTerm: Term;
      readonly snapshot: Snapshot | undefined;
    })
  | (Envelope & {
      /** Apply `entries` in order; when applied, deliver `responses`. No durability needed. */
      readonly type: 'storageApply';
      readonly entries: readonly Entry[];
      readonly responses: readonly Message[];
    })
  | (Envelope & { readonly type: 'storageApplyResponse'; readonly entries: readonly Entry[] });

export type Message = PeerMessage | StorageMessage;
