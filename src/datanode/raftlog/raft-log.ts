/**
 * The one durable log of a node, shared by all its groups (decision 4): one synced write per turn
 * for everything that was appended in it. Implemented by `shared-log.ts`.
 */
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import type { LatencyHistogram } from '../../common/latency-histogram.ts';
import type { Entry, HardState } from '../raft/message.ts';

/** Where a replica's log begins: everything up to `index` is in the engine or a snapshot. */
export interface LogBase {
  readonly index: LogIndex;
  readonly term: Term;
}

/** One replica's part of a batch. Fields are written in this order, atomically with the batch. */
export interface LogAppend {
  readonly replica: ReplicaId;
  /** A new or reset log: drops what was there, starts at `base`, data in engine `generation`. */
  readonly reset?: { readonly base: LogBase; readonly generation: number };
  /** Consecutive; an entry at or before the last index truncates the log there first. */
  readonly entries?: readonly Entry[];
  readonly hardState?: HardState | undefined;
  /** Everything up to `base` is in the synced engine and may go. Needs no durability. */
  readonly compact?: LogBase;
  /** The replica is gone for ever: later appends for it throw, its id is refused on restart. */
  readonly tombstone?: boolean;
}

/** `later`: nobody waits for it; it leaves with the next batch, or after `limits.logLaterMs`. */
export type LogUrgency = 'now' | 'later';

/** The log of one replica, read synchronously (RaftStorage's log half). */
export interface ReplicaLog {
  readonly replica: ReplicaId;
  readonly generation: number;
  readonly hardState: HardState;
  readonly base: LogBase;
  firstIndex(): LogIndex;
  lastIndex(): LogIndex;
  term(index: LogIndex): Term | 'compacted' | 'unavailable';
  entries(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | 'compacted';
  /** Bytes of entry data from firstIndex to lastIndex: what compaction would free. */
  readonly dataBytes: number;
}

export interface RaftLogStats {
  readonly segments: number;
  readonly bytes: number;
  readonly syncs: number;
  readonly batches: number;
  /** Appended but not durable yet: what a caller that must bound memory looks at. */
  readonly queuedBytes: number;
  /** Bytes written since the log was opened. */
  readonly writtenBytes: number;
  /** What the synced writes took. */
  readonly syncTime: LatencyHistogram;
}

export interface RaftLog {
  /** Replicas found on opening, and those created since by an append with `reset`. */
  replicas(): readonly ReplicaId[];
  isTombstone(replica: ReplicaId): boolean;
  /** Undefined for a replica this log has never held. */
  replica(id: ReplicaId): ReplicaLog | undefined;
  /**
   * Queues a part of the next batch. Readers see it at once; `onDurable` runs, in the order of the
   * calls, when its batch is on disk. The batch leaves at the end of the turn or, while one is in
   * flight, right after it. After a failed write or sync nothing is ever reported durable again:
   * `onFailure` of openSharedLog was told.
   */
  append(part: LogAppend, onDurable: () => void, urgency?: LogUrgency): void;
  /**
   * Number of the newest batch on disk that is more than a mark, of those written since the log was
   * opened; 0 before there is one. Batches are numbered without gaps, over restarts too.
   */
  readonly durableSeq: number;
  /** Resolves when everything appended so far is durable. */
  flush(): Promise<void>;
  stats(): RaftLogStats;
  /** Flushes, writes the idle mark and closes. */
  close(): Promise<void>;
}
