/** From a redis-server into the cluster: `redis-cli --cluster import`, and MIGRATE to a gateway port. */
import { strict as assert } from 'node:assert';
import { attempt, beside, cli, cluster, freePort, gateway } from './place.mjs';

export async function tryMigration() {
  const port = await freePort();
  const source = `127.0.0.1:${port}`;
  // Its settings are on the command line: no file of this machine's is read, and none is written.
  const command = [
    'redis-server',
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--maxmemory',
    '1gb',
  ];
  command.push('--proto-max-bulk-len', '16777216', '--save', '', '--appendonly', 'no');
  await beside(
    command,
    async () => assert.equal(await cli(source, 'PING'), 'PONG'),
    async () => {
      await fill(source);
      await attempt('redis-cli --cluster import', () => imports(source));
      await attempt('MIGRATE to a gateway port', () => migrates(source));
    },
  );
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

async function migrates(source) {
  await cli(gateway, 'DEL', ...keys);
  const [host, port] = gateway.split(':');
  const options = ['', '0', '10000', 'COPY', 'KEYS', ...keys];
  assert.equal(await cli(source, 'MIGRATE', host, port, ...options), 'OK');
  await arrived(source);
}
