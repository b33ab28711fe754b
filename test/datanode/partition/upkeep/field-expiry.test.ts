import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { Trio } from '../trio.ts';

let trio: Trio;

/** So far ahead of the system's are the clocks of all nodes. */
let aheadMs = 0;
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
const MINUTE_MS = 60_000;

beforeEach(async () => {
  aheadMs = 0;
  trio = new Trio({ clockSkewMaxMs: 10 * MINUTE_MS });
  for (const node of ['n1', 'n2', 'n3']) {
    trio.clocks.set(node, clock);
    await trio.start(node);
  }
});

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

test('fields expire by the group’s time, the hash with the last, on every replica', async () => {
  await trio.run('write', 'HSET h a 1 b 2 c 3', 'HPEXPIRE h 60000 FIELDS 2 a b', 'HSET g x 1');
  await trio.run('write', 'HPEXPIRE g 60000 FIELDS 1 x');
  expect(await trio.run('read', 'HLEN h', 'HGET h a')).toEqual([':3', '$1\r\n1']);
  aheadMs = MINUTE_MS + 20;
  expect(await trio.run('read', 'HGET h a', 'HLEN h', 'HGET h c')).toEqual([
    '$-1',
    ':1',
    '$1\r\n3',
  ]);
  await expect.poll(() => trio.run('read', 'EXISTS g')).toEqual([':0']);
  await expect.poll(() => trio.run('read', 'DBSIZE')).toEqual([':1']);
  const leader = await trio.leader();
  for (const host of trio.hosts.values()) {
    const replica = host.local('default', 0)!;
    await expect.poll(() => leader.appliedIndex - replica.appliedIndex).toBe(0);
    expect(replica.counts()).toEqual({ keys: 1, expires: 0 });
  }
});

/** Of so many hashes one entry of the leader deletes the due fields. */
const HASHES = 100;
const ENTRIES = 30;

test('a read waits for an entry or two beside hashes with due fields, not for the last', async () => {
  const dueMs = clock.wallMs() + MINUTE_MS;
  for (let entry = 0; entry < ENTRIES; entry++) {
    const keys = Array.from({ length: HASHES }, (_, at) => `h${entry * HASHES + at}`);
    await trio.run('write', ...keys.map((key) => `HSET ${key} goes v stays v`));
    await trio.run('write', ...keys.map((key) => `HPEXPIREAT ${key} ${dueMs} FIELDS 1 goes`));
  }
  const leader = await trio.leader();
  const from = leader.appliedIndex;
  let waited = 0;
  aheadMs = 2 * MINUTE_MS;
  while (leader.appliedIndex - from < ENTRIES) {
    const before = leader.appliedIndex;
    const last = `h${ENTRIES * HASHES - 1}`;
    expect(await trio.run('read', `HLEN ${last}`, `HGET ${last} goes`)).toEqual([':1', '$-1']);
    waited = Math.max(waited, leader.appliedIndex - before);
  }
  expect(waited).toBeLessThan(ENTRIES / 2);
}, 120_000);
