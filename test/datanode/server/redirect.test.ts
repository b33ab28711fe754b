/** The follower-read port: what this node's followers answer, and what is sent on. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Doors, openDoors, RawClient } from './doors.ts';

/** Slot 12182: partition 2 of four. */
const KEY = 'foo';
const MOVED = '-MOVED 12182 127.0.0.1:7002\r\n';

let doors: Doors;
let client: RawClient;

beforeEach(async () => {
  doors = await openDoors(4, { replicaStalenessMs: 1_234 });
  for (const partition of doors.partitions) partition.isLeader = false;
  for (const group of [1, 2, 3, 4]) doors.routes.setLeader(group, 'b', 7);
  client = await RawClient.open(doors.follower);
});

afterEach(async () => {
  client.end();
  await doors.close();
});

test('sends everything with a key on until the client says READONLY', async () => {
  expect(await client.ask(`GET ${KEY}`, MOVED)).toBe(MOVED);
  expect(await client.ask('READONLY', '+OK\r\n')).toBe('+OK\r\n');
  expect(await client.ask(`GET ${KEY}`, '$-1\r\n')).toBe('$-1\r\n');
  expect(doors.partitions[2]!.batches.at(-1)!.maxStalenessMs).toBe(1_234);
  expect(await client.ask(`SET ${KEY} 1`, MOVED)).toBe(MOVED);
  expect(await client.ask('READWRITE', '+OK\r\n')).toBe('+OK\r\n');
  expect(await client.ask(`GET ${KEY}`, MOVED)).toBe(MOVED);
});

test('sends a read on that its follower could not answer', async () => {
  await client.ask('READONLY', '+OK\r\n');
  doors.partitions[2]!.faults.push({ after: 0, code: 'NO_LEADER' });
  expect(await client.ask(`GET ${KEY}`, MOVED)).toBe(MOVED);
  expect(doors.partitions[2]!.batches).toHaveLength(1);
});

test('while nobody is known to lead it answers nobody who has not said READONLY', async () => {
  doors.routes.withdrawLeader(3, { node: 'b', term: 7 });
  client.send(`GET ${KEY}`);
  // while it is held: a try that is under way would be sent on
  const lead = () => {
    const isHeld = doors.server.info().heldNow === 1;
    if (isHeld) doors.routes.setLeader(3, 'b', 8);
    return isHeld;
  };
  await expect.poll(lead).toBe(true);
  expect(await client.until((text) => text.length > 0)).toBe(MOVED);
  expect(doors.partitions[2]!.batches).toEqual([]);
  doors.routes.withdrawLeader(3, { node: 'b', term: 8 });
  await client.ask('READONLY', '+OK\r\n');
  expect(await client.ask(`GET ${KEY}`, '$-1\r\n')).toBe('$-1\r\n');
  expect(doors.partitions[2]!.batches.map((batch) => batch.maxStalenessMs)).toEqual([1_234]);
});

describe('where keys have no slots', () => {
  beforeEach(async () => {
    client.end();
    await doors.close();
    doors = await openDoors(1, { replicaStalenessMs: 1_234, holdMs: 200 }, 'murmur3');
    doors.partitions[0]!.isLeader = false;
    doors.routes.setLeader(1, 'b', 7);
    client = await RawClient.open(doors.follower);
  });

  // no peer answers here: what is sent to the leader is told so in the end
  const forwarded = async () =>
    expect(await client.ask(`GET ${KEY}`, '-CLUSTERDOWN')).toMatch(/^-CLUSTERDOWN partition 0 /);

  test('a read is forwarded to the leader until the client says READONLY', async () => {
    await forwarded();
    expect(doors.partitions[0]!.batches).toEqual([]);
    await client.ask('READONLY', '+OK\r\n');
    expect(await client.ask(`GET ${KEY}`, '$-1\r\n')).toBe('$-1\r\n');
    expect(doors.partitions[0]!.batches.map((batch) => batch.maxStalenessMs)).toEqual([1_234]);
    await client.ask('READWRITE', '+OK\r\n');
    await forwarded();
    expect(doors.partitions[0]!.batches).toHaveLength(1);
  });

  test('so is one that its follower could not answer, and none without keys', async () => {
    expect(await client.ask('DBSIZE', ':0\r\n')).toBe(':0\r\n');
    await client.ask('READONLY', '+OK\r\n');
    doors.partitions[0]!.faults.push({ after: 0, code: 'NO_LEADER' });
    await forwarded();
    expect(doors.partitions[0]!.batches).toHaveLength(2);
  });
});

test('answers also when its node has become the leader, and never a write', async () => {
  await client.ask('READONLY', '+OK\r\n');
  doors.partitions[2]!.isLeader = true;
  doors.routes.setLeader(3, 'a', 8);
  expect(await client.ask(`GET ${KEY}`, '$-1\r\n')).toBe('$-1\r\n');
  const moved = '-MOVED 12182 127.0.0.1:7001\r\n';
  expect(await client.ask(`SET ${KEY} 1`, moved)).toBe(moved);
  expect(await client.ask(`BLPOP ${KEY} 0`, moved)).toBe(moved);
});

test('counts and scans what this node follows, without READONLY', async () => {
  doors.partitions[0]!.isLeader = true;
  expect(await client.ask('DBSIZE', ':0\r\n')).toBe(':0\r\n');
  expect(doors.partitions.map(({ batches }) => batches.length)).toEqual([0, 1, 1, 1]);
  expect(await client.ask('FLUSHALL', '-READONLY')).toMatch(/^-READONLY You can't write/);
});

test('the cluster port sends clients to announced addresses', async () => {
  const known = doors.routes.knownNodes().get('b')!.record;
  const told = { host: 'kv.example.org', clusterPort: 17, followerPort: 18 };
  doors.routes.setNodes(new Map([['b', { ...known, announce: told }]]));
  const cluster = await RawClient.open(doors.cluster);
  const moved = '-MOVED 12182 kv.example.org:17\r\n';
  expect(await cluster.ask(`GET ${KEY}`, moved)).toBe(moved);
  cluster.send('CLUSTER SHARDS');
  expect(await cluster.until((text) => text.includes('online'))).toContain('kv.example.org');
  cluster.end();
});

test('CLUSTER INFO counts the slots that nobody serves, and stays ok for those who are served', async () => {
  const addresses = new Map(
    [...doors.routes.knownNodes()].map(([name, { record }]) => [name, record]),
  );
  const slotsTold = async () => {
    const cluster = await RawClient.open(doors.cluster);
    const told = await cluster.ask('CLUSTER INFO', 'buffer_limit_exceeded');
    cluster.end();
    return ['state', 'slots_ok', 'slots_pfail', 'slots_fail'].map(
      (name) => told.match(new RegExp(`cluster_${name}:(\\w+)`))![1],
    );
  };
  expect(await slotsTold()).toEqual(['ok', '16384', '0', '0']);
  doors.routes.withdrawLeader(1, { node: 'b', term: 7 });
  expect(await slotsTold()).toEqual(['ok', '12288', '4096', '0']);
  doors.routes.resignLeader(1, { node: 'b', term: 7 });
  expect(await slotsTold()).toEqual(['ok', '12288', '0', '4096']);
  doors.routes.setLeader(1, 'a', 8);
  expect(await slotsTold()).toEqual(['ok', '16384', '0', '0']);
  doors.routes.setNodes(new Map(), addresses);
  expect(await slotsTold()).toEqual(['ok', '4096', '0', '12288']);
});
