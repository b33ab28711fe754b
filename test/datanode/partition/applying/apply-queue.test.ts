import { beforeEach, describe, expect, test } from 'vitest';
import { ApplyQueue } from '../../../../src/datanode/partition/applying/apply-queue.ts';
import type { Entry } from '../../../../src/datanode/raft/message.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

let clock: ManualClock;
let mayGather: boolean;
let queue: ApplyQueue;
/** What was given at once, by the indices of its entries. */
let runs: number[][];
let faults: unknown[];
/** Of the run under way. */
let end: { resolve: () => void; reject: (failure: unknown) => void } | undefined;

beforeEach(() => {
  clock = new ManualClock();
  [mayGather, runs, faults, end] = [true, [], [], undefined];
  queue = new ApplyQueue(clock, {
    mayGather: () => mayGather,
    apply: (work) => {
      runs.push(work.flatMap(({ entries }) => entries.map(({ index }) => index)));
      return new Promise<void>((resolve, reject) => {
        end = { resolve, reject };
      });
    },
    onFault: (failure) => faults.push(failure),
  });
});

const entry = (index: number, bytes = 10): Entry => ({
  ...{ index, term: 1, kind: 'normal', data: Buffer.alloc(bytes) },
});
const add = (index: number, bytes?: number) => queue.add([entry(index, bytes)], () => {});
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function finish(): Promise<void> {
  end!.resolve();
  await settled();
}

describe('while nobody waits', () => {
  test('what comes within 40 ms is applied together', async () => {
    add(1);
    clock.spend(39);
    add(2);
    expect(runs).toEqual([]);
    await clock.step();
    expect([clock.monotonicMs(), runs]).toEqual([40, [[1, 2]]]);
  });

  test('the 256th piece of work is waited for, and no more', () => {
    for (let index = 1; index < 256; index++) add(index);
    expect(runs).toEqual([]);
    add(256);
    expect(runs.map((run) => run.length)).toEqual([256]);
  });

  test('no more than 256 KiB are gathered, counted anew behind each run', async () => {
    add(1, 200_000);
    expect(runs).toEqual([]);
    add(2, 62_144);
    expect(runs).toEqual([[1, 2]]);
    add(3, 200_000);
    await finish();
    await finish();
    expect(runs).toEqual([[1, 2], [3]]);
    add(4, 100_000);
    expect(runs).toHaveLength(2);
  });

  test('whoever begins to wait hurries it, and its timer begins nothing more', async () => {
    add(1);
    queue.start();
    expect(runs).toEqual([[1]]);
    await finish();
    clock.spend(20);
    add(2);
    await clock.step();
    expect([clock.monotonicMs(), runs]).toEqual([60, [[1], [2]]]);
  });
});

test('one run at a time: what comes meanwhile is the next, gathered or not', async () => {
  mayGather = false;
  add(1);
  add(2);
  add(3);
  expect(runs).toEqual([[1]]);
  await finish();
  expect(runs).toEqual([[1], [2, 3]]);
});

test('it is idle when all of it is applied, what came meanwhile as well', async () => {
  await queue.whenIdle();
  add(1);
  let isIdle = false;
  void queue.whenIdle().then(() => {
    isIdle = true;
  });
  add(2);
  await finish();
  expect([isIdle, queue.running]).toEqual([false, true]);
  await finish();
  expect([isIdle, queue.running]).toEqual([true, false]);
});

test('when it stops, what is being applied is finished and nothing else begins', async () => {
  mayGather = false;
  add(1);
  add(2);
  let isStopped = false;
  void queue.stop().then(() => {
    isStopped = true;
  });
  await settled();
  expect(isStopped).toBe(false);
  await finish();
  expect(isStopped).toBe(true);
  add(3);
  expect(runs).toEqual([[1]]);
});

test('a fault is told once, ends the wait of others, and nothing is applied behind it', async () => {
  mayGather = false;
  add(1);
  add(2);
  const idle = queue.whenIdle();
  end!.reject(new Error('the engine refuses'));
  await idle;
  expect(faults).toEqual([new Error('the engine refuses')]);
  add(3);
  queue.start();
  expect([runs, queue.running]).toEqual([[[1]], false]);
});
