/** What the doors of a datanode may be told by its configuration. */
import { limits } from '../../common/limits.ts';

export interface ServerSettings {
  readonly clientsMax: number;
  /** What requests of all clients may hold, in bytes, near enough. */
  readonly requestsBytesMax: number;
  /** What replies that clients have not taken may be together. */
  readonly repliesBytesMax: number;
  /** Longest argument of a command, in bytes. */
  readonly valueBytesMax: number;
  /** Longest answer of a read, in bytes, near enough; limits.replyBytesMax at most. */
  readonly replyBytesMax: number;
  /** How long a request waits for its partition to have a leader (decision 11). */
  readonly holdMs: number;
  /** How long a client that took from a queue waits to hear what, when no leader can tell. */
  readonly outcomeMs: number;
  /** How old the state may be from which a follower answers reads. */
  readonly replicaStalenessMs: number;
  /** Commands that take this long are kept in the slow log; −1: none are. */
  readonly slowLogMicroseconds: number;
  readonly slowLogEntriesMax: number;
  /** Commands that take this long are spikes of latency; 0: none are. */
  readonly latencyThresholdMs: number;
  readonly aclLogEntriesMax: number;
  /** Keys that clients of the node track, told as changed beyond; 0: as many as there are. */
  readonly trackingTableMaxKeys: number;
}

export const defaultServerSettings: ServerSettings = {
  clientsMax: limits.clientsMax,
  requestsBytesMax: limits.clientsRequestBytesMax,
  repliesBytesMax: limits.clientsReplyBytesMax,
  valueBytesMax: limits.valueBytesMax,
  replyBytesMax: limits.replyBytesMax,
  holdMs: limits.holdMs,
  outcomeMs: limits.outcomeWaitMs,
  replicaStalenessMs: 10_000,
  slowLogMicroseconds: 10_000,
  slowLogEntriesMax: 128,
  latencyThresholdMs: 0,
  aclLogEntriesMax: 128,
  trackingTableMaxKeys: limits.trackingTableMaxKeys,
};
