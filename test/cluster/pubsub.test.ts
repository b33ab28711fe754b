/** Pub/sub over three real nodes, with the clients people use. */
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';

const run = promisify(execFile);
let cluster: TestCluster;
const clients: { disconnect(): void }[] = [];

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  await ledAsWanted(cluster, 4);
}, 300_000);

afterAll(async () => {
  for (const client of clients) client.disconnect();
  await cluster.destroy();
}, 300_000);

function connect(node: number): Redis {
  const client = new Redis({ port: cluster.gatewayPort(node), retryStrategy: () => 100 });
  client.on('error', () => {});
  clients.push(client);
  return client;
}

test('ioredis: every node hears every node, in order, and PUBLISH knows how many', async () => {
  const heard: string[][] = [[], [], []];
  for (const node of [0, 1, 2]) {
    const subscriber = connect(node);
    subscriber.on('message', (_channel, text) => heard[node]!.push(text));
    subscriber.on('pmessage', (pattern, channel, text) =>
      heard[node]!.push(`${pattern} ${channel} ${text}`),
    );
    expect(await subscriber.subscribe('news')).toBe(1);
    if (node === 2) await subscriber.psubscribe('ne*');
  }
  // SUBSCRIBE is answered when every node knows: no wait in between.
  const publishers = [connect(0), connect(1), connect(2)];
  for (const publisher of publishers) expect(await publisher.publish('news', 'first')).toBe(4);
  const texts = Array.from({ length: 2_000 }, (_, at) => `m${at}`);
  const counts = await Promise.all(texts.map((text) => publishers[0]!.publish('news', text)));
  expect(new Set(counts)).toEqual(new Set([4]));
  await eventually(30_000, 'all is heard', () =>
    heard.every((list, node) => list.length === (node === 2 ? 2 : 1) * (3 + texts.length)),
  );
  for (const list of heard) {
    expect(list.filter((text) => /^m\d+$/.test(text))).toEqual(texts);
  }
  expect(heard[2]!.filter((text) => text === 'ne* news first')).toHaveLength(3);
  expect(await publishers[1]!.pubsub('NUMSUB', 'news')).toEqual(['news', 3]);
  expect(await publishers[1]!.pubsub('CHANNELS')).toEqual(['news']);
  expect(await publishers[1]!.pubsub('NUMPAT')).toBe(1);
});

test('node-redis in RESP3: messages, patterns and shard channels on one connection', async () => {
  const socket = { port: cluster.gatewayPort(1), host: '127.0.0.1' };
  const subscriber = createClient({ socket });
  subscriber.on('error', () => {});
  await subscriber.connect();
  const heard: string[] = [];
  await subscriber.subscribe('nr', (text) => heard.push(text));
  await subscriber.pSubscribe('n?', (text, channel) => heard.push(`${channel} ${text}`));
  await subscriber.sSubscribe('nr', (text) => heard.push(`shard ${text}`));
  const publisher = createClient({ socket: { ...socket, port: cluster.gatewayPort(2) } });
  publisher.on('error', () => {});
  await publisher.connect();
  expect(await publisher.publish('nr', 'a')).toBe(2);
  expect(await publisher.sPublish('nr', 'b')).toBe(1);
  await eventually(30_000, 'all is heard', () => heard.length === 3);
  expect(heard).toEqual(['a', 'nr a', 'shard b']);
  expect(await subscriber.ping()).toBe('PONG');
  await subscriber.unsubscribe();
  expect(await publisher.publish('nr', 'c')).toBe(1);
  subscriber.destroy();
  await eventually(
    30_000,
    'nobody listens',
    async () => (await publisher.publish('nr', 'd')) === 0,
  );
  publisher.destroy();
});

test('redis-cli: SUBSCRIBE on one node, PUBLISH on another; shard channels with -c', async () => {
  const listening = spawn('redis-cli', ['-p', String(cluster.gatewayPort(0)), 'PSUBSCRIBE', 'rc*']);
  let output = '';
  listening.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  try {
    await eventually(30_000, 'it listens', () => output.includes('psubscribe'));
    const port = ['-p', String(cluster.gatewayPort(2))];
    expect((await run('redis-cli', [...port, 'PUBLISH', 'rcx', 'hello'])).stdout).toBe('1\n');
    await eventually(30_000, 'it hears', () => output.includes('hello'));
    expect(output.trimEnd().split('\n').slice(-4)).toEqual(['pmessage', 'rc*', 'rcx', 'hello']);
  } finally {
    listening.kill('SIGKILL');
  }
  const gateway = connect(1);
  const shards: string[] = [];
  gateway.on('smessage', (channel, text) => shards.push(`${channel} ${text}`));
  await gateway.ssubscribe('foo', 'bar');
  for (const channel of ['foo', 'bar']) {
    const answers = await Promise.all(
      [0, 1, 2].map(async (node) => {
        const args = ['-c', '-p', String(cluster.clusterPort(node)), 'SPUBLISH', channel, 'x'];
        return (await run('redis-cli', args)).stdout.trim().split('\n').at(-1);
      }),
    );
    expect(answers).toEqual(['1', '1', '1']);
  }
  await eventually(30_000, 'all is heard', () => shards.length === 6);
});

test('counts are right again after a node was killed and its subscribers came back', async () => {
  const [staying, moving, publisher] = [connect(0), connect(2), connect(1)];
  const heard: string[] = [];
  moving.on('message', (_channel, text) => heard.push(text));
  await staying.subscribe('life');
  await moving.subscribe('life');
  expect(await publisher.publish('life', 'both')).toBe(2);
  const killedMs = performance.now();
  cluster.kill('datanode3');
  await eventually(30_000, 'the dead are not counted', async () => {
    return (await publisher.publish('life', 'one')) === 1;
  });
  process.stdout.write(
    `pub/sub: the dead are counted for ${Math.round(performance.now() - killedMs)} ms\n`,
  );
  await eventually(60_000, 'the subscriber is back', async () => {
    return (await publisher.publish('life', 'again')) === 2;
  });
  await eventually(30_000, 'it hears', () => heard.includes('again'));
  expect(await connect(2).pubsub('NUMSUB', 'life')).toEqual(['life', 2]);
});

test('keyspace notifications: set on one node, heard on another, of keys led by any', async () => {
  // the node that the test before has killed takes its leaders back: as in Redis, an event that
  // happens while its teller goes may be told by nobody
  await ledAsWanted(cluster, 4);
  const [admin, subscriber, writer] = [connect(0), connect(1), connect(2)];
  expect(await admin.config('SET', 'notify-keyspace-events', 'Exg$')).toBe('OK');
  await eventually(30_000, 'every node knows', async () => {
    const all = await Promise.all(
      [admin, subscriber, writer].map((client) => client.config('GET', 'notify-keyspace-events')),
    );
    return all.every((shown) => JSON.stringify(shown) === '["notify-keyspace-events","g$xE"]');
  });
  const heard = new Map<string, string[]>();
  subscriber.on('pmessage', (_pattern, channel, key) => {
    const event = channel.slice('__keyevent@0__:'.length);
    heard.set(key, [...(heard.get(key) ?? []), event]);
  });
  await subscriber.psubscribe('__key*@0__:*');
  const keys = Array.from({ length: 40 }, (_, at) => `event:${at}`);
  for (const key of keys) {
    await writer.set(key, '1');
    await writer.incr(key);
    await writer.del(key);
    await writer.set(key, '1', 'PX', 50);
  }
  const expected = ['set', 'incrby', 'del', 'set', 'expire', 'expired'];
  await eventually(60_000, 'all is heard', () =>
    keys.every((key) => heard.get(key)?.length === expected.length),
  );
  for (const key of keys) expect(heard.get(key), key).toEqual(expected);
  expect(await admin.config('SET', 'notify-keyspace-events', '')).toBe('OK');
  await eventually(30_000, 'nothing is told any more', async () => {
    heard.clear();
    for (const key of keys) await writer.set(key, '2');
    return heard.size === 0;
  });
});

test('a node that stands still costs its publishers messages, not memory', async () => {
  const [subscriber, publisher, near] = [connect(2), connect(0), connect(0)];
  await subscriber.subscribe('flood');
  let heard = 0;
  await near.subscribe('flood');
  near.on('message', () => heard++);
  const info = async (section: string, field: string) =>
    Number(new RegExp(`${field}:(\\d+)`).exec(await publisher.info(section))![1]);
  const before = await info('memory', 'used_memory_rss');
  const payload = 'x'.repeat(1024 * 1024);
  const pid = cluster.pidOf('datanode3');
  process.kill(pid, 'SIGSTOP');
  const counts = new Set<number>();
  try {
    for (let sent = 0; sent < 300; sent++) counts.add(await publisher.publish('flood', payload));
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await eventually(30_000, 'who reads hears all', () => heard === 300);
  const grownBytes = (await info('memory', 'used_memory_rss')) - before;
  const lost = await info('kvorum', 'pubsub_lost_messages');
  process.stdout.write(
    `pub/sub: 300 MiB to a node that stands still: ${lost} messages lost, ` +
      `resident memory grew by ${Math.round(grownBytes / 1_048_576)} MiB\n`,
  );
  expect(counts).toContain(1);
  // what is sent to it until it is given up is a matter of speed
  expect(lost).toBeGreaterThan(0);
  expect(grownBytes).toBeLessThan(200 * 1_048_576);
  await eventually(30_000, 'the node is back', async () => {
    return (await publisher.publish('flood', 'again')) === 2;
  });
}, 240_000);
