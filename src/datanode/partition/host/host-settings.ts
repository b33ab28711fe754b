/** What may be set of a node's partitions. */
import { limits } from '../../../common/limits.ts';
import type { PartitionSettings } from '../replica/replica-world.ts';

export interface HostSettings extends PartitionSettings {
  readonly tickMs: number;
  readonly engineSyncIntervalMs: number;
  /** A replica whose disk failed (it is full) is opened again after this. */
  readonly diskRetryMs: number;
  /** Tables are read through this long after the last time, at this rate at most. */
  readonly scrubPauseMs: number;
  readonly scrubBytesPerSecond: number;
  /** Jitter before a campaign when the leader's node has gone away. */
  readonly orphanCampaignMs: number;
  /** Reads of an engine that found nothing before its keys are looked through for a filter. */
  readonly keyFilterMisses: number;
  /** Memory for what is known of single keys: three times a power of two. */
  readonly knownRecordsBytes: number;
  /** Memory for values that were read lately: a power of two. */
  readonly hotValuesBytes: number;
  /** A larger batch of an engine is not written behind. */
  readonly behindBatchBytesMax: number;
}

/** Settings of a real cluster; tests shorten them. */
export const defaultHostSettings: HostSettings = {
  tickMs: 100,
  electionTicks: 10,
  heartbeatTicks: 2,
  clockSkewMaxMs: 500,
  clockDriftMax: 0.1,
  leasePromiseMs: limits.leasePromiseMs,
  orphanCampaignMs: 150,
  engineSyncIntervalMs: limits.engineSyncIntervalMs,
  diskRetryMs: 2_000,
  scrubPauseMs: limits.scrubPauseMs,
  scrubBytesPerSecond: limits.scrubBytesPerSecond,
  keyFilterMisses: limits.keyFilterMisses,
  knownRecordsBytes: limits.knownRecordsBytes,
  hotValuesBytes: limits.hotValuesBytes,
  behindBatchBytesMax: limits.engineBehindBatchBytesMax,
  messageBytesMax: limits.raftMessageBytesMax,
  sleepAfterTicks: 30,
  logKeepEntries: limits.logKeepEntries,
  logKeepBytes: limits.logKeepBytes,
  logHeldBytes: limits.logHeldBytes,
  applyHeldBytes: limits.applyHeldBytes,
};
