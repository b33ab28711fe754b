/** Subscribers and publishers on real sockets, byte for byte beside a stock redis-server. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { hasRedis, RealRedis } from '../commands/real-redis.ts';
import { type Doors, openDoors, type RawClient, wire } from './doors.ts';
import { RawClients } from './raw-clients.ts';

/** Who says what, in this order; each line is answered before the next is sent. */
type Script = readonly (readonly [client: string, line: string])[];

const TAKES_PART = 'a subscriber in RESP2';
const scripts: Readonly<Record<string, Script>> = {
  [TAKES_PART]: [
    ['a', 'SUBSCRIBE one two one'],
    ['b', 'PUBLISH one hello'],
    ['b', 'PUBLISH nobody hello'],
    ['a', 'GET x'],
    ['a', 'CLIENT INFO'],
    ['a', 'HELLO 3'],
    ['a', 'PUBLISH one x'],
    ['a', 'GET'],
    ['a', 'NOSUCH x'],
    ['a', 'SUBSCRIBE'],
    ['a', 'PING'],
    ['a', 'PING hi'],
    ['a', 'PING hi ho'],
    ['a', 'PSUBSCRIBE o* t?o'],
    ['a', 'SSUBSCRIBE one'],
    ['b', 'PUBLISH one twice'],
    ['b', 'PUBLISH two twice'],
    ['b', 'SPUBLISH one shard'],
    ['b', 'SPUBLISH two shard'],
    ['a', 'UNSUBSCRIBE nothing'],
    ['a', 'UNSUBSCRIBE two'],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'PUNSUBSCRIBE o*'],
    ['a', 'PUNSUBSCRIBE'],
    ['a', 'SUNSUBSCRIBE nothing'],
    ['a', 'SUNSUBSCRIBE'],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'PUNSUBSCRIBE'],
    ['a', 'SUNSUBSCRIBE'],
    ['a', 'UNSUBSCRIBE x y'],
    ['a', 'PING'],
    ['a', 'SUBSCRIBE one'],
    ['a', 'RESET'],
    ['a', 'PING'],
    ['b', 'PUBLISH one gone'],
    ['a', 'SUBSCRIBE one'],
    ['a', 'QUIT'],
  ],
  'a subscriber in RESP3': [
    ['a', 'HELLO 3 SETNAME me'],
    ['a', 'SUBSCRIBE one two one'],
    ['a', 'GET x'],
    ['a', 'PING'],
    ['a', 'PING hi'],
    ['a', 'PSUBSCRIBE * o*'],
    ['a', 'UNSUBSCRIBE two'],
    ['a', 'SSUBSCRIBE one'],
    ['b', 'SPUBLISH one shard'],
    ['a', 'PUNSUBSCRIBE *'],
    ['b', 'PUBLISH one hello'],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'PUNSUBSCRIBE o* zz'],
    ['a', 'SUNSUBSCRIBE'],
    ['a', 'UNSUBSCRIBE'],
    ['b', 'PUBLISH one gone'],
    ['a', 'SUBSCRIBE one'],
    ['a', 'RESET'],
    ['b', 'PUBLISH one gone'],
    ['a', 'PING'],
  ],
  'PUBSUB tells of everybody': [
    ['a', 'SUBSCRIBE news.a news.b other'],
    ['b', 'SUBSCRIBE news.a'],
    ['a', 'PSUBSCRIBE n* m*'],
    ['b', 'PSUBSCRIBE n*'],
    ['b', 'SSUBSCRIBE shard.x'],
    ['c', 'PUBSUB CHANNELS news.a'],
    ['c', 'PUBSUB CHANNELS nothing*'],
    ['c', 'PUBSUB NUMSUB news.a news.b nothing news.a'],
    ['c', 'PUBSUB NUMSUB'],
    ['c', 'PUBSUB NUMPAT'],
    ['c', 'PUBSUB SHARDCHANNELS'],
    ['c', 'PUBSUB SHARDCHANNELS s*x'],
    ['c', 'PUBSUB SHARDNUMSUB shard.x news.a'],
    ['c', 'PUBSUB NUMPAT x'],
    ['c', 'PUBSUB CHANNELS x y'],
    ['c', 'PUBSUB NoSuch'],
    ['c', 'PUBSUB'],
    ['c', 'PUBLISH news.a hello'],
    ['c', 'PUBLISH m hello'],
  ],
  'CLIENT REPLY OFF silences replies, not pushes': [
    ['a', 'CLIENT REPLY OFF'],
    ['a', 'SUBSCRIBE one'],
    ['b', 'PUBLISH one hello'],
    ['a', 'UNSUBSCRIBE'],
    ['a', 'CLIENT REPLY ON'],
    ['a', 'CLIENT REPLY SKIP'],
    ['a', 'SUBSCRIBE one'],
    ['a', 'PING'],
  ],
  'CLIENT REPLY SKIP leaves replies off where they are': [
    ['a', 'CLIENT REPLY OFF'],
    ['a', 'CLIENT REPLY SKIP'],
    ['a', 'PING'],
    ['a', 'PING'],
    ['a', 'CLIENT REPLY ON'],
    ['a', 'PING'],
  ],
  'RESET is answered by what has turned replies off, and skipped when it alone is': [
    ['a', 'CLIENT REPLY OFF'],
    ['a', 'PING'],
    ['a', 'RESET'],
    ['a', 'CLIENT REPLY SKIP'],
    ['a', 'RESET'],
    ['a', 'PING'],
  ],
  'wrong numbers of arguments': [
    ['a', 'PUBLISH one'],
    ['a', 'PUBLISH one two three'],
    ['a', 'SPUBLISH one'],
    ['a', 'SSUBSCRIBE'],
    ['a', 'PSUBSCRIBE'],
  ],
};

let doors: Doors;
const clients = new RawClients();
beforeEach(async () => {
  doors = await openDoors();
});
afterEach(async () => {
  clients.end();
  await doors.close();
});

const open = (to: number | string = doors.gateway) => clients.open(to);

/**
 * What every client read, and how many lines all had read after each step. `enough`: the lines to
 * wait for at each step; without it, what redis-server sends before it does anything else.
 */
async function play(script: Script, to: number | string, enough?: readonly number[]) {
  const byName = new Map<string, RawClient>();
  for (const name of new Set(script.map(([client]) => client))) byName.set(name, await open(to));
  const linesRead = () =>
    [...byName.values()].reduce((sum, { text }) => sum + text.split('\r\n').length, 0);
  const other = await open(to);
  const totals: number[] = [];
  for (const [name, line] of script) {
    byName.get(name)!.send(line);
    const wanted = enough?.[totals.length];
    if (wanted === undefined) await answered(other);
    else for (let tries = 0; linesRead() < wanted && tries < 4_000; tries++) await pause(5);
    totals.push(linesRead());
  }
  await pause(40);
  return { texts: [...byName].map(([name, { text }]) => [name, text] as const), totals };
}

/** All that redis-server answers to what it was sent before is read: it has one thread. */
async function answered(other: RawClient): Promise<void> {
  for (let round = 0; round < 3; round++) await other.ask('PING', '+PONG\r\n');
  await pause(5);
}

/** The one part of an answer that is a server's own. */
function withoutGreeting([name, text]: readonly [string, string]): string {
  return `${name}: ${text.replace(/[%*]\d+\r\n\$6\r\nserver[\s\S]*?\*0\r\n/, '')}`;
}

describe.skipIf(!hasRedis)('as redis-server says', () => {
  test.each(Object.entries(scripts))('%s', async (_name, script) => {
    const redis = await RealRedis.start();
    try {
      const theirs = await play(script, redis.path);
      const own = await play(script, doors.gateway, theirs.totals);
      expect(own.texts.map(withoutGreeting)).toEqual(theirs.texts.map(withoutGreeting));
    } finally {
      await redis.stop();
    }
  });
});

test('a RESP3 client that publishes to itself gets the message behind the reply', async () => {
  const client = await open();
  await client.ask('HELLO 3', '%7');
  await client.until((text) => text.includes('modules\r\n*0\r\n'));
  client.send('SUBSCRIBE one');
  const before = (await client.until((text) => text.endsWith(':1\r\n'))).length;
  client.send('PUBLISH one hi', 'PUBLISH one ho', 'PING');
  const text = await client.until((all) => all.endsWith('+PONG\r\n'));
  const message = (word: string) => `>3\r\n$7\r\nmessage\r\n$3\r\none\r\n$2\r\n${word}\r\n`;
  expect(text.slice(before)).toBe(`:1\r\n${message('hi')}:1\r\n${message('ho')}+PONG\r\n`);
});

test('messages come between the replies of a pipeline where they belong', async () => {
  const [subscriber, publisher] = [await open(), await open()];
  subscriber.send('SUBSCRIBE one');
  await subscriber.until((text) => text.endsWith(':1\r\n'));
  publisher.send(...Array.from({ length: 500 }, (_, at) => `PUBLISH one ${at}`));
  await publisher.until((text) => text.length >= 500 * 4);
  subscriber.send('UNSUBSCRIBE one', 'GET x', 'PING');
  const text = await subscriber.until((all) => all.endsWith('+PONG\r\n'));
  const numbers = [...text.matchAll(/\$3\r\none\r\n\$\d+\r\n(\d+)\r\n/g)].map(
    ([, number]) => number,
  );
  expect(numbers).toEqual(Array.from({ length: 500 }, (_, at) => String(at)));
  expect(text).toMatch(/unsubscribe\r\n\$3\r\none\r\n:0\r\n\$-1\r\n\+PONG\r\n$/);
});

test('a command before SUBSCRIBE in the pipeline is answered before it', async () => {
  const client = await open();
  client.send('SET x 1', 'GET x', 'SUBSCRIBE one', 'GET x', 'UNSUBSCRIBE', 'GET x');
  const text = await client.until((all) => all.endsWith(':0\r\n$1\r\n1\r\n'));
  expect(text).toMatch(
    /^\+OK\r\n\$1\r\n1\r\n\*3\r\n\$9\r\nsubscribe[\s\S]*-ERR Can't execute 'get'/,
  );
});

test('who disconnects is counted no more; INFO and CLIENT LIST tell', async () => {
  const [subscriber, other] = [await open(), await open()];
  subscriber.send('SUBSCRIBE one two', 'PSUBSCRIBE p*', 'SSUBSCRIBE s');
  await subscriber.until((text) => text.includes('ssubscribe'));
  other.send('INFO stats', 'CLIENT LIST TYPE pubsub');
  const text = await other.until((all) => all.includes('psub=1'));
  expect(text).toMatch(/pubsub_channels:2\r\npubsub_patterns:1\r\npubsubshard_channels:1\r\n/);
  expect(text).toMatch(/flags=P .*sub=2 psub=1 ssub=1 /);
  expect(text.match(/id=/g)).toHaveLength(1);
  expect(doors.server.info().pubsub).toMatchObject({ channels: 2, clients: 1 });
  subscriber.end();
  await expect.poll(() => doors.server.info().pubsub.clients).toBe(0);
  expect(doors.server.info().pubsub).toMatchObject({ channels: 0, patterns: 0, shardChannels: 0 });
  expect(await other.ask('PUBLISH one x', ':0\r\n')).toBe(':0\r\n');
});

test('a subscriber that does not read is disconnected, and no other', async () => {
  const [slow, quick, publisher] = [await open(), await open(), await open()];
  for (const client of [slow, quick]) {
    client.send('SUBSCRIBE flood');
    await client.until((text) => text.endsWith(':1\r\n'));
  }
  slow.socket.pause();
  let got = 0;
  quick.socket.removeAllListeners('data');
  quick.socket.on('data', (chunk) => {
    got += chunk.length;
  });
  const megabyte = 'x'.repeat(1024 * 1024);
  const messages = (2 * limits.subscriberOutputBytesMax) / megabyte.length;
  for (let sent = 0; sent < messages; sent++) {
    await publisher.ask(`PUBLISH flood ${megabyte}`, ':1\r\n');
    await expect.poll(() => got).toBeGreaterThan((sent + 1) * megabyte.length);
  }
  await expect.poll(() => doors.server.info().pubsub.slowSubscribers).toBe(1);
  expect(doors.server.info().pubsub.clients).toBe(1);
  expect(await publisher.ask('PUBLISH flood x', ':1\r\n')).toBe(':1\r\n');
  expect(quick.closed).toBe(false);
});

test('names that are too long are refused', async () => {
  const client = await open();
  client.send(`SUBSCRIBE ok ${'n'.repeat(limits.channelBytesMax + 1)}`, 'PUBSUB CHANNELS');
  expect(await client.until((text) => text.endsWith('*0\r\n'))).toMatch(
    /^-ERR a channel name of 65537 bytes is longer than 65536\r\n\*0\r\n$/,
  );
});

describe('shard channels on the cluster port', () => {
  test('are of one slot', async () => {
    const client = await open(doors.cluster);
    const crossSlot = "-CROSSSLOT Keys in request don't hash to the same slot\r\n";
    expect(await client.ask('SSUBSCRIBE a b', crossSlot)).toBe(crossSlot);
    expect(await client.ask('SUNSUBSCRIBE a b', crossSlot)).toBe(crossSlot);
    client.send('SSUBSCRIBE {a}1 {a}2');
    await client.until((text) => text.endsWith(':2\r\n'));
    expect(doors.server.info().pubsub.shardChannels).toBe(2);
  });

  test('belong to the node that leads their slot; elsewhere the client is sent there', async () => {
    const [client, gateway] = [await open(doors.cluster), await open()];
    // "foo" is slot 12182: partition 2 of 4.
    doors.partitions[2]!.isLeader = false;
    doors.routes.setLeader(3, 'b', 9);
    const moved = '-MOVED 12182 127.0.0.1:7002\r\n';
    expect(await client.ask('SSUBSCRIBE foo', moved)).toBe(moved);
    expect(await client.ask('SPUBLISH foo x', moved)).toBe(moved);
    expect(await client.ask('PUBLISH foo x', ':0\r\n')).toBe(':0\r\n');
    gateway.send('SSUBSCRIBE foo a');
    await gateway.until((text) => text.endsWith(':2\r\n'));
    expect(await (await open()).ask('SPUBLISH foo x', ':1\r\n')).toBe(':1\r\n');
    expect(await gateway.until((text) => text.includes('smessage'))).toContain(
      wire('smessage foo x'),
    );
  });
});
