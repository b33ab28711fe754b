/** What the replicas of one node count together, for INFO and /metrics; and a switch and room they share. */
import type { Clock } from '../../../common/clock.ts';
import { LatencyHistogram } from '../../../common/latency-histogram.ts';
import type { Lookups } from '../../encoding/txn/view.ts';
import { RangeRoom } from '../reading/range-room.ts';

export class PartitionMeters {
  /** Keys that reads looked up on this node, as leader. */
  readonly lookups: Lookups = { hits: 0, misses: 0 };
  /** For their reads of ranges. */
  readonly ranges = new RangeRoom();
  /** Keys deleted because their deadline passed, in groups this node led. */
  expiredKeys = 0;
  /** Fields of hashes, likewise. */
  expiredFields = 0;
  /** Off (DEBUG SET-ACTIVE-EXPIRE 0): keys past their deadline are deleted only when somebody reads. */
  expiresUnread = true;
  /** From the moment entries are known to be committed until they are in the engine. */
  readonly apply = new LatencyHistogram();
  /** Elections that a replica of this node won. */
  electionsWon = 0;
  /** How often a replica of this node lost sight of its group's leader. */
  leaderLosses = 0;
  snapshotsSent = 0;
  snapshotsReceived = 0;
  /** Streams that broke, in either direction. */
  snapshotsFailed = 0;

  /** `done`, counting the time until it is called. */
  timeApply(clock: Clock, done: () => void): () => void {
    const committedMs = clock.monotonicMs();
    return () => {
      this.apply.recordMs(clock.monotonicMs() - committedMs);
      done();
    };
  }

  /** CONFIG RESETSTAT: what Redis counts too. */
  reset(): void {
    this.lookups.hits = 0;
    this.lookups.misses = 0;
    this.expiredKeys = 0;
    this.expiredFields = 0;
  }
}
