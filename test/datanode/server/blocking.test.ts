/** Blocked clients at the doors; who is served is tested with real partitions. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WRONG_TYPE } from '../../../src/datanode/commands/rows/args.ts';
import { encodeReply } from '../../../src/datanode/resp/encode-reply.ts';
import { eventually } from '../../cluster/cluster.ts';
import { type Doors, openDoors, type RawClient, rebuild } from './doors.ts';
import { RawClients, whenBlocked } from './raw-clients.ts';
import { keepWithdrawals } from './scripted-partition.ts';

let doors: Doors;
const clients = new RawClients();

beforeEach(async () => {
  doors = await openDoors(4, { holdMs: 300, outcomeMs: 300 });
});

afterEach(async () => {
  clients.end();
  await doors.close();
});

const open = (door: 'gateway' | 'cluster' = 'gateway') => clients.open(doors[door]);

const blocked = (count: number) => whenBlocked(doors, count);

test('a blocked client runs nothing else until its time is over', async () => {
  const client = await open();
  // long enough to be seen waiting by a machine that stands still for a second
  client.send('BLPOP none 1.5', 'PING', 'SET none x');
  await blocked(1);
  expect(client.text).toBe('');
  expect(await client.until((text) => text.includes('OK'))).toBe('*-1\r\n+PONG\r\n+OK\r\n');
  await blocked(0);
});

test('it keeps nothing alive but its own request', async () => {
  const asked: Buffer[] = [];
  for (const partition of doors.partitions) {
    const wait = partition.wait.bind(partition);
    partition.wait = (request, gone) => {
      asked.push(request.id, ...request.line);
      return wait(request, gone);
    };
  }
  const client = await open();
  client.send('BLPOP none 0');
  await blocked(1);
  expect(asked).toHaveLength(4);
  for (const { buffer } of asked) expect(buffer.byteLength).toBeLessThan(100);
});

test('what was sent before it comes first, and what it is given is confirmed', async () => {
  const client = await open();
  client.send('RPUSH {k}a x', 'BLPOP {k}a 0', 'PING');
  const text = await client.until((all) => all.includes('PONG'));
  expect(text).toBe(':1\r\n*2\r\n$4\r\n{k}a\r\n$1\r\nx\r\n+PONG\r\n');
  await eventually(30_000, 'it is confirmed', () =>
    doors.partitions.some(({ confirmed }) => confirmed.length === 1),
  );
});

test('CLIENT LIST and INFO show it, CLIENT UNBLOCK ends it', async () => {
  const [first, second, other] = [await open(), await open(), await open()];
  const idOf = async (client: RawClient) =>
    Number((await client.ask('CLIENT ID', ':1\r\n')).slice(1));
  const ids = [await idOf(first), await idOf(second)];
  const before = [first.text, second.text];
  first.send('BLPOP none 0');
  second.send('BLMOVE none {none}2 LEFT LEFT 1000');
  await blocked(2);
  other.send(`CLIENT LIST ID ${ids[0]}`, 'INFO clients');
  const shown = await other.until((text) => text.includes('keys_on_nokey'));
  expect(shown).toContain(' flags=b ');
  expect(shown).toContain('blocked_clients:2\r\n');
  // both wait for one key
  expect(doors.server.info().waits).toEqual({ timed: 1, keys: 1, groupKeys: 0 });
  expect(await other.ask(`CLIENT UNBLOCK ${ids[0]}`, ':1\r\n')).toBe(':1\r\n');
  expect(await other.ask(`CLIENT UNBLOCK ${ids[1]} ERROR`, ':1\r\n')).toBe(':1\r\n');
  expect(await other.ask(`CLIENT UNBLOCK ${ids[1]}`, ':1\r\n')).toBe(':0\r\n');
  expect(await other.ask('CLIENT UNBLOCK 99', ':1\r\n')).toBe(':0\r\n');
  await blocked(0);
  expect(doors.server.info().waits).toEqual({ timed: 0, keys: 0, groupKeys: 0 });
  const told = (client: RawClient, at: number) =>
    client
      .until((text) => text.length > before[at]!.length)
      .then((t) => t.slice(before[at]!.length));
  expect(await told(first, 0)).toBe('*-1\r\n');
  expect(await told(second, 1)).toBe('-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n');
});

test('a client that goes waits no more', async () => {
  const client = await open();
  client.send('BLPOP none 0');
  await blocked(1);
  client.end();
  await blocked(0);
});

test('a client that goes is counted until nothing can be given to it', async () => {
  const client = await open();
  client.send('BLPOP none 0');
  await blocked(1);
  const tell = keepWithdrawals(doors.partitions);
  client.end();
  await eventually(30_000, 'it has gone', () => doors.server.info().connectedClients === 0);
  expect(doors.server.info().blockedClients).toBe(1);
  tell();
  await blocked(0);
});

test('the keys are of one partition, and on the cluster port of one that is led here', async () => {
  const client = await open();
  expect(await client.ask('BLPOP a b c d 0', '-CROSSSLOT')).toMatch(/^-CROSSSLOT .*hash tag/);
  for (const partition of doors.partitions) partition.isLeader = false;
  for (let group = 1; group <= 4; group++) doors.routes.setLeader(group, 'b', 2);
  const direct = await open('cluster');
  expect(await direct.ask('BLPOP foo 0', '-MOVED')).toBe('-MOVED 12182 127.0.0.1:7002\r\n');
});

test('without a leader it waits on, and its connection ends when nobody can tell', async () => {
  for (const partition of doors.partitions) partition.isLeader = false;
  const client = await open();
  // nil would say that nothing was there
  expect(await client.ask('BLPOP foo 0.05', '-CLUSTERDOWN')).toMatch(
    /nothing was taken, try again/,
  );
  // a leader that is asked and cannot be heard
  for (let group = 1; group <= 4; group++) doors.routes.setLeader(group, 'b', 1);
  const [doomed, leaver] = [await open(), await open()];
  leaver.send('BLPOP bar 0');
  await blocked(1);
  leaver.end();
  doomed.send('BLPOP foo 0.05');
  await eventually(20_000, 'its connection ends', () => doomed.closed);
  expect(doomed.text).toBe('');
  // of the other, which was given up before, no connection was left to end
  expect(doors.warnings).toEqual([expect.stringMatching(/^a connection ends: nobody can tell/)]);
  const before = client.text.length;
  client.send('BLPOP foo 0');
  await blocked(1);
  for (const partition of doors.partitions) {
    partition.isLeader = true;
    partition.term++;
  }
  for (let group = 1; group <= 4; group++) doors.routes.setLeader(group, 'a', 2);
  const other = await open();
  await other.ask('RPUSH foo x', ':1\r\n');
  const text = await client.until((all) => all.endsWith('x\r\n'));
  expect(text.slice(before)).toBe('*2\r\n$3\r\nfoo\r\n$1\r\nx\r\n');
});

test('a leader that comes when the time is over is asked what was there', async () => {
  const [client, empty, other] = [await open(), await open(), await open()];
  await other.ask('RPUSH foo x', ':1\r\n');
  for (const partition of doors.partitions) partition.isLeader = false;
  client.send('BLPOP foo 0.05');
  empty.send('BLPOP {foo}none 0.05');
  await blocked(2);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(client.text + empty.text).toBe('');
  for (const partition of doors.partitions) partition.isLeader = true;
  for (let group = 1; group <= 4; group++) doors.routes.setLeader(group, 'a', 1);
  const text = await client.until((all) => all.endsWith('\r\n'));
  expect(text).toBe('*2\r\n$3\r\nfoo\r\n$1\r\nx\r\n');
  expect(await empty.until((all) => all.endsWith('\r\n'))).toBe('*-1\r\n');
});

test('of a partition that is rebuilt nobody can tell whether an element was taken', async () => {
  const client = await open();
  client.send('BLPOP none 0');
  await blocked(1);
  for (const partition of doors.partitions.keys()) rebuild(doors, partition);
  await eventually(20_000, 'its connection ends', () => client.closed);
  expect(client.text).toBe('');
});

test('in a transaction it never waits', async () => {
  const client = await open();
  client.send('MULTI', 'BLPOP none 0', 'BLMOVE none {none}2 LEFT LEFT 0', 'EXEC');
  const text = await client.until((all) => all.includes('*2\r\n'));
  expect(text).toBe('+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n*-1\r\n$-1\r\n');
});

test('a node that stops sends its blocked clients away', async () => {
  const client = await open();
  client.send('BLPOP none 0');
  await blocked(1);
  await doors.close();
  await eventually(30_000, 'it is closed', () => client.closed);
});

for (const request of ['BLPOP none 0', 'BLPOP none 0.05', 'BLMOVE none {none}2 LEFT LEFT 0']) {
  test(`${request} is told that too many wait, and keeps its connection`, async () => {
    for (const partition of doors.partitions) partition.waitsRefused = 'BUSY';
    const client = await open();
    client.send(request, 'PING');
    const text = await client.until((all) => all.includes('PONG'));
    expect(text).toBe('-TRYAGAIN no room as the script says\r\n+PONG\r\n');
    expect(doors.warnings).toEqual([]);
    await blocked(0);
  });
}

test('room that comes soon is waited for', async () => {
  for (const partition of doors.partitions) partition.waitsRefused = 'BUSY';
  const client = await open();
  client.send('BLPOP {k}a 0');
  await blocked(1);
  for (const partition of doors.partitions) partition.waitsRefused = undefined;
  const other = await open();
  other.send('RPUSH {k}a x');
  expect(await client.until((all) => all.includes('x'))).toBe('*2\r\n$4\r\n{k}a\r\n$1\r\nx\r\n');
});

test('who waited before may have been given something: too many elsewhere do not tell', async () => {
  const client = await open();
  client.send('BLPOP none 0.6');
  await blocked(1);
  // a later leader has no room; what the one before did it cannot say
  for (const [at, partition] of doors.partitions.entries()) {
    partition.waitsRefused = 'BUSY';
    partition.term = 2;
    doors.routes.setLeader(at + 1, 'a', 2);
  }
  await client.until(() => client.closed);
  expect(client.text).toBe('');
});

test('who waits behind what was last goes on when the key is something else for a while', async () => {
  const bytes = encodeReply(WRONG_TYPE, 2);
  const isOther = { kind: 'served', reply: { kind: 'encoded', bytes } } as const;
  let looks = 0;
  let isStream = false;
  for (const partition of doors.partitions) {
    partition.wait = async ({ line, withdraw }) => {
      looks++;
      if (line.at(-1)!.equals(Buffer.from('$'))) {
        return { kind: 'concrete', line: [...line.slice(0, -1), Buffer.from('0-0')] };
      }
      if (isStream) return { kind: 'served', reply: { kind: 'simple', text: 'entries' } };
      return withdraw || looks > 1 ? isOther : { kind: 'withdrawn' };
    };
  }
  const client = await open();
  client.send('XREAD BLOCK 0 STREAMS k $');
  await eventually(30_000, 'it looks again and again', () => looks > 3);
  expect(client.text).toBe('');
  isStream = true;
  expect(await client.until((text) => text.includes('\r\n'))).toBe('+entries\r\n');
  isStream = false;
  expect(await client.ask('XREAD BLOCK 100 STREAMS k $', '*-1\r\n')).toBe('*-1\r\n');
  expect(await client.ask('XREAD BLOCK 0 STREAMS k 5', '-WRONGTYPE')).toMatch(/^-WRONGTYPE/);
});
