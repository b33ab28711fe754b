/** What reads of a replica at rest, which has applied up to 7, stand on; engine and pace are the test's. */
import type { FollowerReadGround } from '../../../src/datanode/partition/reading/follower-reads.ts';
import { RangeRoom } from '../../../src/datanode/partition/reading/range-room.ts';

export const readGround = {
  appliedIndex: () => 7,
  applied: () => ({ index: 7, term: 1 }),
  visibleIndex: () => 7,
  writing: () => false,
  clearing: () => false,
  nowMs: () => 1,
  appliedTimeMs: () => 1,
  readTimeMs: () => 1,
  monotonicMs: () => 1,
  askLeader: () => 1,
  hurry: () => {},
  draw: () => 0,
  expirySettled: () => true,
  ranges: new RangeRoom(),
  lookups: { mayLookUp: () => true } as unknown as FollowerReadGround['lookups'],
};
