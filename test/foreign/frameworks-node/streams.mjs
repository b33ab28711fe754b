/** Streams by ioredis and node-redis: who appends, a group of consumers, who waits, claims and trims. */
import { strict as assert } from 'node:assert';
import { Cluster, Redis } from 'ioredis';
import { createCluster } from 'redis';
import { attempt, cluster, connect, gateway } from './place.mjs';

const EACH = 200;
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export async function tryStreams() {
  await attempt('ioredis streams', () => ofIoredis(() => new Redis(gateway)));
  for (const RESP of [2, 3])
    await attempt(`node-redis streams, RESP${RESP}`, () => ofNodeRedis(() => connect({ RESP })));
  if (cluster === undefined) return;
  await attempt('ioredis streams, cluster', () => ofIoredis(() => new Cluster(cluster)));
  await attempt('node-redis streams, cluster', () => ofNodeRedis(connectCluster));
}

async function connectCluster() {
  const rootNodes = cluster.map((socket) => ({ socket }));
  const client = createCluster({ rootNodes, defaults: { RESP: 2 } });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function ofIoredis(open) {
  const redis = open();
  const key = '{ioredis}stream';
  await redis.del(key);
  await redis.xgroup('CREATE', key, 'g', '$', 'MKSTREAM');
  const clients = [redis, open(), open()];
  const seen = [];
  const consume = async (client, name) => {
    for (;;) {
      const line = ['GROUP', 'g', name, 'COUNT', 10, 'BLOCK', 2_000, 'STREAMS', key, '>'];
      const reply = await client.xreadgroup(...line);
      if (reply === null) return;
      const [[, entries]] = reply;
      seen.push(...entries.map(([, fields]) => Number(fields[1])));
      await client.xack(key, 'g', ...entries.map(([id]) => id));
    }
  };
  const consumers = [consume(clients[1], 'one'), consume(clients[2], 'two')];
  for (let n = 0; n < EACH; n++) await redis.xadd(key, '*', 'n', n);
  await Promise.all(consumers);
  assert.deepEqual(
    seen.toSorted((a, b) => a - b),
    Array.from({ length: EACH }, (_, n) => n),
  );
  assert.deepEqual(await redis.xpending(key, 'g'), [0, null, null, null]);
  await claimsOfIoredis(redis, key);
  await waitsOfIoredis(redis, clients[1], key);
  for (const client of clients) client.disconnect();
}

async function claimsOfIoredis(redis, key) {
  const id = await redis.xadd(key, '*', 'n', 'last');
  assert.equal((await redis.xreadgroup('GROUP', 'g', 'dead', 'STREAMS', key, '>'))[0][1][0][0], id);
  assert.deepEqual(await redis.xpending(key, 'g'), [1, id, id, [['dead', '1']]]);
  assert.deepEqual(await redis.xclaim(key, 'g', 'heir', 60_000, id), []);
  assert.deepEqual(await redis.xclaim(key, 'g', 'heir', 0, id), [[id, ['n', 'last']]]);
  assert.deepEqual(await redis.xautoclaim(key, 'g', 'other', 0, '0', 'JUSTID'), ['0-0', [id], []]);
  const [pending] = await redis.xpending(key, 'g', '-', '+', 10);
  assert.deepEqual([pending[0], pending[1], pending[3]], [id, 'other', 2]);
  assert.equal(await redis.xack(key, 'g', id), 1);
  const info = await redis.xinfo('STREAM', key);
  assert.equal(info[info.indexOf('length') + 1], EACH + 1);
  assert.equal((await redis.xinfo('GROUPS', key)).length, 1);
  assert.equal((await redis.xinfo('CONSUMERS', key, 'g')).length, 5);
  assert.equal(await redis.xtrim(key, 'MAXLEN', 10), EACH + 1 - 10);
  assert.deepEqual(await redis.xrevrange(key, '+', '-', 'COUNT', 1), [[id, ['n', 'last']]]);
  await assert.rejects(redis.xadd(key, '1-1', 'a', 'b'), /equal or smaller/);
}

/** Answered by the next XADD, and without one after its time. */
async function waitsOfIoredis(redis, waiter, key) {
  assert.equal(await waiter.xread('BLOCK', 50, 'STREAMS', key, '$'), null);
  const waiting = waiter.xread('BLOCK', 20_000, 'STREAMS', key, '$');
  await wait(500);
  const id = await redis.xadd(key, '*', 'n', 'late');
  assert.deepEqual(await waiting, [[key, [[id, ['n', 'late']]]]]);
}

async function ofNodeRedis(open) {
  const client = await open();
  const key = '{node-redis}stream';
  await client.del(key);
  await client.xGroupCreate(key, 'g', '0', { MKSTREAM: true });
  const ids = [];
  for (let n = 0; n < 4; n++) ids.push(await client.xAdd(key, '*', { n: String(n) }));
  const entries = await client.xRange(key, '-', '+');
  assert.deepEqual(
    entries.map(({ id, message }) => [id, message.n]),
    ids.map((id, n) => [id, String(n)]),
  );
  assert.deepEqual(await client.xRevRange(key, '+', '-', { COUNT: 1 }), entries.slice(3));
  const [read] = await client.xReadGroup('g', 'one', { key, id: '>' }, { COUNT: 3, BLOCK: 1_000 });
  assert.deepEqual(
    read.messages.map(({ id }) => id),
    ids.slice(0, 3),
  );
  const pending = await client.xPending(key, 'g');
  assert.deepEqual([pending.pending, pending.firstId, pending.lastId], [3, ids[0], ids[2]]);
  const claimed = await client.xClaim(key, 'g', 'two', 0, ids[0]);
  assert.equal(claimed[0].id, ids[0]);
  const swept = await client.xAutoClaim(key, 'g', 'three', 0, '0', { COUNT: 2 });
  assert.deepEqual([swept.nextId, swept.messages.length], [ids[2], 2]);
  assert.equal(await client.xAck(key, 'g', ids), 3);
  const info = await client.xInfoStream(key);
  assert.deepEqual([info.length, info['last-generated-id'], info.groups], [4, ids[3], 1]);
  const [group] = await client.xInfoGroups(key);
  assert.deepEqual([group.name, group.pending, group['entries-read'], group.lag], ['g', 0, 3, 1]);
  assert.equal((await client.xInfoConsumers(key, 'g')).length, 3);
  assert.equal(await client.xDel(key, ids[0]), 1);
  assert.equal(await client.xTrim(key, 'MINID', ids[3]), 2);
  assert.equal(await client.xRead({ key, id: '$' }, { BLOCK: 50 }), null);
  const other = await open();
  const waiting = other.xRead({ key, id: '$' }, { BLOCK: 20_000 });
  await wait(500);
  const late = await client.xAdd(key, '*', { n: 'late' });
  assert.equal((await waiting)[0].messages[0].id, late);
  assert.equal(await client.xTrim(key, 'MAXLEN', 0), 2);
  assert.equal(await client.exists(key), 1);
  await other.close();
  await client.close();
}
