/** A read that fails while it runs: its replica's fault, or only the end of an engine it had. */
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../../src/common/clock.ts';
import { KvorumError } from '../../../../src/common/errors.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { FollowerReads } from '../../../../src/datanode/partition/reading/follower-reads.ts';
import { Reads } from '../../../../src/datanode/partition/reading/reads.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { handClock } from '../hand-clock.ts';
import { readGround } from '../read-ground.ts';
import { batchOf } from '../trio.ts';

const share = { firstSlot: 0, lastSlot: 16_383 };
const closed = new KvorumError('STOPPING', 'the engine is closed');
const damaged = new KvorumError('CORRUPT', 'a block is damaged');

/** Replicas whose engine's iterators stand still until `fail` rejects what is asked of them. */
async function setup() {
  const host = createMemoryHost();
  const { engine } = await host.open('1-0');
  const { engine: other } = await host.open('1-1');
  let fail: (failure: unknown) => void = () => {};
  const failure = new Promise<unknown>((resolve) => {
    fail = resolve;
  });
  const next = async () => {
    throw await failure;
  };
  const iterate = () => ({ next, close: async () => {} });
  const slot = {
    engine: Object.assign(engine, { snapshot: () => ({ iterate, close: async () => {} }) }),
  };
  const faults: unknown[] = [];
  const ground = {
    engine: () => slot.engine,
    ...readGround,
    onFault: (error: unknown) => faults.push(error),
    pace: new Pace(handClock() as unknown as Clock),
  };
  const exchange = () => Object.assign(slot, { engine: other });
  return { ground, fail, exchange, faults };
}

type Ground = Awaited<ReturnType<typeof setup>>['ground'];
type Run = (ground: Ground, batch: CommandBatch) => Promise<readonly LineResult[]>;

const confirmed = [{ readContext: 1, index: 7 }];

const atLeader: Run = (ground, batch) => {
  const reads = new Reads(ground, share);
  const results = reads.gather(batch);
  reads.flush({ requestRead: () => 1, vouchedReadIndex: () => undefined });
  reads.confirm(confirmed);
  return results;
};

const atFollower: Run = (ground, batch) => {
  const reads = new FollowerReads(ground, share);
  const results = reads.gather(batch, 1_000);
  reads.confirm(confirmed);
  return results;
};

const range = batchOf('read', ['SCAN 0']);
const codeOf = ([result]: readonly LineResult[]) => (result!.ok ? 'answered' : result!.code);

describe.each([
  ['a leader', atLeader],
  ['a follower', atFollower],
])('a read of a range at %s', (_name, run) => {
  test('may be asked for again when a snapshot took the place of its engine', async () => {
    const { ground, fail, exchange, faults } = await setup();
    const results = run(ground, range);
    exchange();
    fail(closed);
    expect(codeOf(await results)).toBe('NOT_LEADER');
    expect(faults).toEqual([]);
  });

  test.each([
    ['the engine in use is closed', closed, false],
    ['the engine in use is damaged', damaged, false],
    ['an engine that was replaced is damaged', damaged, true],
  ])('is a fault of the replica when %s', async (_case, failure, isReplaced) => {
    const { ground, fail, exchange, faults } = await setup();
    const results = run(ground, range);
    if (isReplaced) exchange();
    fail(failure);
    expect(codeOf(await results)).toBe('CORRUPT');
    expect(faults).toEqual([failure]);
  });
});
