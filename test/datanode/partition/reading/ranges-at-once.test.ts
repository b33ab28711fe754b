/** Many reads of ranges at once: what is under way is bounded, and nobody reads for who has gone. */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { LazyAbort } from '../../../../src/common/lazy-abort.ts';
import { limits } from '../../../../src/common/limits.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { applyLines } from '../../../../src/datanode/partition/applying/apply-lines.ts';
import type { LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import { FollowerReads } from '../../../../src/datanode/partition/reading/follower-reads.ts';
import { RangeRoom } from '../../../../src/datanode/partition/reading/range-room.ts';
import { Reads } from '../../../../src/datanode/partition/reading/reads.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { replyBytes } from '../../../../src/datanode/resp/reply-bytes.ts';
import { readGround } from '../read-ground.ts';
import { batchOf } from '../trio.ts';

const SHARE = { firstSlot: 0, lastSlot: 16_383 };
const LARGE = 'LRANGE large 0 -1';
const SMALL = 'LRANGE small 0 -1';
const { largeMax, smallMax } = limits.rangeReads;
const confirmed = [{ readContext: 1, index: 7 }];
const raft = { requestRead: () => 1, vouchedReadIndex: () => undefined };

/** An engine with a list of 600 KB and one of 40 elements, that counts the states it has given out. */
async function engineOf(pace: Pace) {
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const push = (key: string, count: number, bytes: number) => [
    ...['RPUSH', key].map((word) => Buffer.from(word)),
    ...Array.from({ length: count }, () => Buffer.alloc(bytes, 'v')),
  ];
  const context = { nowMs: 1, random: () => 0, ...SHARE, pace };
  const lines = [push('large', 600, 1_000), push('small', 40, 10)];
  await applyLines(txn, lines, context, {} as ReplicaState);
  await engine.write(txn.operations());
  const states = { open: 0, most: 0, ever: 0, slices: 0 };
  const snapshot = engine.snapshot.bind(engine);
  const counting = Object.assign(engine, {
    snapshot() {
      const held = snapshot();
      const [close, iterate] = [held.close.bind(held), held.iterate.bind(held)];
      states.ever++;
      states.most = Math.max(states.most, ++states.open);
      return Object.assign(held, {
        iterate(range: Parameters<typeof iterate>[0]) {
          states.slices++;
          return iterate(range);
        },
        close() {
          states.open--;
          return close();
        },
      });
    },
  });
  return { engine: counting, states };
}

async function setup(at: 'a leader' | 'a follower') {
  const pace = new Pace(systemClock);
  const { engine, states } = await engineOf(pace);
  const ranges = new RangeRoom();
  const is = { clearing: false, settled: true };
  const ground = {
    ...{ ...readGround, engine: () => engine, pace, ranges, clearing: () => is.clearing },
    expirySettled: () => is.settled,
    onFault: (failure: unknown) => {
      throw failure;
    },
  };
  const leader = new Reads(ground, SHARE);
  const follower = new FollowerReads(ground, SHARE);
  const gather = (words: readonly string[], asker?: LazyAbort) => {
    const batch = { ...batchOf('read', words), asker };
    return at === 'a leader' ? leader.gather(batch) : follower.gather(batch, 1_000);
  };
  const confirm = () => {
    if (at === 'a leader') leader.flush(raft);
    (at === 'a leader' ? leader : follower).confirm(confirmed);
  };
  const replica = at === 'a leader' ? leader : follower;
  const expire = (nowMs: number) => (at === 'a leader' ? leader.expire(nowMs) : follower.tick());
  return { gather, confirm, replica, expire, ranges, states, is };
}

const sizesOf = (results: readonly LineResult[]) =>
  results.map((result) => (result.ok ? replyBytes(result.reply) : result.code));
const turn = () => new Promise((resolve) => setImmediate(resolve));
const places = ['a leader', 'a follower'] as const;

test.each(places)('at %s few are under way at a time, and all are answered', async (at) => {
  const { gather, confirm, replica, ranges, states } = await setup(at);
  const results = Array.from({ length: 60 }, () => gather([LARGE]));
  confirm();
  expect(sizesOf((await Promise.all(results)).flat()).every((size) => Number(size) > 600_000)).toBe(
    true,
  );
  expect(states.most).toBeLessThanOrEqual(smallMax + largeMax);
  await turn();
  expect([ranges.underWay, ranges.waiting, ranges.bytes, replica.count]).toEqual([0, 0, 0, 0]);
});

test.each(places)('at %s small ones are answered while large ones wait', async (at) => {
  const { gather, confirm, ranges } = await setup(at);
  const answered: string[] = [];
  const note = (words: string) => gather([words]).then(() => answered.push(words));
  const larges = Array.from({ length: 60 }, () => note(LARGE));
  confirm();
  await expect.poll(() => ranges.waiting, { interval: 1 }).toBeGreaterThan(20);
  const small = note(SMALL);
  confirm();
  await small;
  expect(answered.filter((words) => words === LARGE).length).toBeLessThan(40);
  await Promise.all(larges);
});

test.each(places)('at %s what is behind in a batch does not hold back what is done', async (at) => {
  const { gather, confirm, ranges } = await setup(at);
  const larges = Array.from({ length: 60 }, () => gather([LARGE]));
  confirm();
  await expect.poll(() => ranges.waiting, { interval: 1 }).toBeGreaterThan(20);
  const mixed = gather(['LLEN small', LARGE]);
  confirm();
  expect(sizesOf(await mixed).map((size) => typeof size)).toEqual(['number', 'string']);
  expect(ranges.waiting).toBeGreaterThan(0);
  await Promise.all(larges);
});

test.each(places)('at %s nothing is read for who has gone', async (at) => {
  const { gather, confirm, expire, ranges, states } = await setup(at);
  const asker = new LazyAbort();
  const results = Array.from({ length: 60 }, () => gather([LARGE, LARGE], asker));
  confirm();
  await expect.poll(() => ranges.waiting, { interval: 1 }).toBeGreaterThan(20);
  asker.abort();
  const { ever, slices } = states;
  expire(1);
  // those under way end at their next step
  const late = gather([LARGE], asker);
  confirm();
  expect(sizesOf(await late)).toEqual(['BUSY']);
  await Promise.all(results);
  expect(states.ever).toBe(ever);
  expect(states.slices - slices).toBeLessThanOrEqual(smallMax + largeMax);
  await expect.poll(() => [states.open, ranges.underWay, ranges.waiting]).toEqual([0, 0, 0]);
});

test.each(places)('at %s one that waits has no place while nothing may be read', async (at) => {
  const { gather, confirm, replica, ranges, is } = await setup(at);
  const results = Array.from({ length: 60 }, () => gather([LARGE]));
  confirm();
  await expect.poll(() => ranges.waiting, { interval: 1 }).toBeGreaterThan(20);
  is.clearing = true;
  await expect.poll(() => [ranges.underWay, ranges.waiting]).toEqual([0, 0]);
  expect(replica.count).toBeGreaterThan(0);
  is.clearing = false;
  replica.resume();
  expect((await Promise.all(results)).flat().every(({ ok }) => ok)).toBe(true);
});

test('a batch ends when its replies are as much as a client may leave unread', async () => {
  const { gather, confirm } = await setup('a leader');
  const lines = Array.from({ length: 20 }, () => LARGE);
  const results = gather(lines);
  confirm();
  const sizes = sizesOf(await results);
  expect(sizes.filter((size) => size !== 'BUSY')).toHaveLength(2);
});

test('those that wait are told when this replica leads no more', async () => {
  const { gather, confirm, replica, ranges } = await setup('a leader');
  const results = Array.from({ length: 60 }, () => gather([LARGE]));
  confirm();
  await expect.poll(() => ranges.waiting, { interval: 1 }).toBeGreaterThan(20);
  replica.failAll('NOT_LEADER', 'leadership was lost');
  const codes = sizesOf((await Promise.all(results)).flat());
  expect(codes.filter((code) => code === 'NOT_LEADER').length).toBeGreaterThan(20);
  expect(ranges.waiting).toBe(0);
});
