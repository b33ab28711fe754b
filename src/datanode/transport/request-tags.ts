/**
 * The first byte of a request between nodes says what it is: one of these, or the version of a
 * forwarded batch (`routing/request-codec.ts`), which counts from 1. Numbers are frozen.
 */
export const requestTags = {
  /** A state of a partition that is being backed up: `routing/backup-codec.ts`. */
  backup: 0x42,
  /** Which keys change: `routing/changes-codec.ts`. */
  changes: 0x43,
  /** What became of an entry: `partition/entries/fate-codec.ts`. */
  fate: 0x46,
  /** Who leads a partition: `routing/leader-question.ts`. */
  leader: 0x48,
  /** The node that asks is about to stop: `partition/leading/departures.ts`. */
  farewell: 0x4c,
  /** How much of a snapshot has arrived: `partition/snapshots/snapshot-resume.ts`. */
  snapshotProgress: 0x52,
  /** Whether replicas run: `partition/members/standing.ts`. */
  standing: 0x53,
  /** A client that waits: `routing/wait-codec.ts`. */
  wait: 0x57,
  /** Which groups sleep: `partition/sleeping/sleepers-query.ts`. */
  sleepers: 0x5a,
} as const;
