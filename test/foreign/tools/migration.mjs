/** From a redis-server into the cluster: `redis-cli --cluster import`, and MIGRATE to a gateway port. */
import { strict as assert } from 'node:assert';
import {
  attempt,
  beside,
  cli,
  cluster,
  directory,
  eventually,
  freePort,
  gateway,
} from './place.mjs';

export async function tryMigration() {
  await besideRedis([], async (source) => {
    await fill(source);
    await attempt('redis-cli --cluster import', () => imports(source));
    await attempt('MIGRATE to a gateway port', () => migrates(source));
  });
  const node = ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())];
  await besideRedis(node, async (source) => {
    await cli(source, 'CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await eventually(async () => assert.match(await cli(source, 'CLUSTER', 'INFO'), /state:ok/));
    await fill(source);
    await attempt('MIGRATE of a node in a Redis Cluster', () => migratesEach(source));
  });
}

/** Settings are on the command line: no file of this machine's is read, and what is written goes with the cluster. */
async function besideRedis(more, use) {
  const port = await freePort();
  const source = `127.0.0.1:${port}`;
  const command = ['redis-server', '--port', String(port), '--bind', '127.0.0.1'];
  command.push('--maxmemory', '1gb', '--proto-max-bulk-len', '16777216');
  command.push('--save', '', '--appendonly', 'no', '--dir', directory, ...more);
  const isReady = async () => assert.equal(await cli(source, 'PING'), 'PONG');
  await beside(command, isReady, () => use(source));
}

const many = Array.from({ length: 700 }, (_, i) => String(i));
/** How each is made, and how it is read. */
const kinds = {
  string: [['SET', 'value'], ['GET']],
  number: [['SET', '12345'], ['GET']],
  large: [['SET', 'x'.repeat(100_000)], ['GET']],
  list: [
    ['RPUSH', ...many],
    ['LRANGE', '0', '-1'],
  ],
  ints: [['SADD', ...many], ['SORT']],
  set: [
    ['SADD', 'a', 'b', '3'],
    ['SORT', 'ALPHA'],
  ],
  hash: [
    ['HSET', ...many],
    ['HGET', '698'],
  ],
  zset: [
    ['ZADD', ...many.flatMap((i) => [i, `m${i}`])],
    ['ZRANGE', '0', '-1', 'WITHSCORES'],
  ],
  hll: [['PFADD', ...many], ['PFCOUNT']],
};
const keys = Object.keys(kinds).map((kind) => `import:${kind}`);

async function fill(place) {
  for (const [kind, [[command, ...args]]] of Object.entries(kinds)) {
    await cli(place, command, `import:${kind}`, ...args);
  }
  await cli(place, 'EXPIRE', 'import:string', '1000');
}

async function contentsOf(place) {
  const answers = [];
  for (const [kind, [, [command, ...args]]] of Object.entries(kinds)) {
    answers.push(await cli(place, command, `import:${kind}`, ...args));
  }
  return answers;
}

async function arrived(source) {
  assert.deepEqual(await contentsOf(gateway), await contentsOf(source));
  const left = Number(await cli(gateway, 'TTL', 'import:string'));
  assert.ok(left > 800 && left <= 1_000, `${left} s are left`);
}

async function imports(source) {
  const options = ['--cluster', 'import', cluster[0], '--cluster-from', source];
  await cli(cluster[0], ...options, '--cluster-copy', '--cluster-replace');
  await arrived(source);
}

/** All at once. */
async function migrates(source) {
  await cli(gateway, 'DEL', ...keys);
  await migrate(source, keys);
  await arrived(source);
}

/** One after the other: a node of a cluster takes keys of one slot only. */
async function migratesEach(source) {
  await cli(gateway, 'DEL', ...keys);
  for (const key of keys) await migrate(source, [key]);
  await arrived(source);
}

async function migrate(source, names) {
  const [host, port] = gateway.split(':');
  const options = ['', '0', '10000', 'COPY', 'KEYS', ...names];
  assert.equal(await cli(source, 'MIGRATE', host, port, ...options), 'OK');
}
