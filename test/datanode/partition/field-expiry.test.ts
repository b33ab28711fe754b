import { afterEach, beforeEach, expect, test } from 'vitest';
import { Trio } from './trio.ts';

let trio: Trio;

beforeEach(async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

test('fields expire by the group’s time, the hash with the last, on every replica', async () => {
  await trio.run('write', 'HSET h a 1 b 2 c 3', 'HPEXPIRE h 1500 FIELDS 2 a b', 'HSET g x 1');
  await trio.run('write', 'HPEXPIRE g 1500 FIELDS 1 x');
  expect(await trio.run('read', 'HLEN h', 'HGET h a')).toEqual([':3', '$1\r\n1']);
  await new Promise((resolve) => setTimeout(resolve, 1_520));
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
