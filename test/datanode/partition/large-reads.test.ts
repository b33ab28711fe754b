/** Many reads of large values that were confirmed together: others have turns between them. */
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import { createMemoryHost } from '../../../src/datanode/engine/memory.ts';
import type { LineResult } from '../../../src/datanode/partition/batch.ts';
import {
  type FollowerReadGround,
  FollowerReads,
} from '../../../src/datanode/partition/follower-reads.ts';
import { Pace } from '../../../src/datanode/partition/pace.ts';
import { Reads } from '../../../src/datanode/partition/reads.ts';
import { handClock } from './hand-clock.ts';
import { batchOf } from './trio.ts';

const share = { firstSlot: 0, lastSlot: 16_383 };
const readMs = limits.workMs / 2;
const count = 40;

/** A replica in which one look at the engine takes `readMs`. */
async function setup() {
  const clock = handClock();
  const { engine: memory } = await createMemoryHost().open('1-0');
  let [turn, inTurn, most] = [-1, 0, 0];
  const engine = Object.assign(Object.create(memory), {
    getSync(key: Buffer) {
      clock.ms += readMs;
      if (clock.turns !== turn) [turn, inTurn] = [clock.turns, 0];
      most = Math.max(most, ++inTurn);
      return memory.getSync(key);
    },
  });
  const ground = {
    engine: () => engine,
    appliedIndex: () => 7,
    applied: () => ({ index: 7, term: 1 }),
    visibleIndex: () => 7,
    writing: () => false,
    clearing: () => false,
    nowMs: () => 1,
    readTimeMs: () => 1,
    monotonicMs: () => 1,
    askLeader: () => 1,
    hurry: () => {},
    draw: () => 0,
    expirySettled: () => true,
    onFault: (failure: unknown) => {
      throw failure;
    },
    lookups: { mayLookUp: () => true } as unknown as FollowerReadGround['lookups'],
    pace: new Pace(clock as unknown as Clock),
  };
  return { ground, most: () => most };
}

type Ground = Awaited<ReturnType<typeof setup>>['ground'];
type Run = (ground: Ground) => Promise<readonly LineResult[]>[];

const confirmed = [{ readContext: 1, index: 7 }];
const batches = () => Array.from({ length: count }, (_, at) => batchOf('read', [`GET k${at}`]));

const atLeader: Run = (ground) => {
  const reads = new Reads(ground, share);
  const results = batches().map((batch) => reads.gather(batch));
  reads.flush({ requestRead: () => 1, vouchedReadIndex: () => undefined });
  reads.confirm(confirmed);
  return results;
};

const atFollower: Run = (ground) => {
  const reads = new FollowerReads(ground, share);
  const results = batches().map((batch) => reads.gather(batch, 1_000));
  reads.confirm(confirmed);
  return results;
};

test.each([
  ['a leader', atLeader],
  ['a follower', atFollower],
])('reads of single values at %s give way once they took long', async (_name, run) => {
  const { ground, most } = await setup();
  const results = await Promise.all(run(ground));
  expect(results.every(([result]) => result!.ok)).toBe(true);
  expect(most()).toBeLessThanOrEqual(limits.workMs / readMs + 1);
});
