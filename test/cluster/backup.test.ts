/** Backups of a real cluster: redis-cli --rdb, kvorum backup, under writes and while leaders are lost. */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Manifest } from '../../src/cli/backup/manifest.ts';
import { hasRedis, RealRedis } from '../datanode/commands/real-redis.ts';
import { replyText } from '../datanode/commands/reply-text.ts';
import { eventually, kvorum, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';

const run = promisify(execFile);
const PARTITIONS = 4;
const KEYS = 300;
/** More than the system takes for a client that does not read. */
const BIG = 100;
const BIG_BYTES = 240_000;
let cluster: TestCluster;
let client: Redis;
let directory: string;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'kvorum-backup-'));
  cluster = await startCluster({ partitions: PARTITIONS });
  await ledAsWanted(cluster, PARTITIONS);
  client = new Redis({ port: cluster.gatewayPort(0) });
  client.on('error', () => {});
  const batch = client.pipeline();
  for (let at = 0; at < KEYS; at++) batch.set(`text:${at}`, 'x'.repeat(at * 40));
  batch.rpush('list', ...Array.from({ length: 200 }, (_, at) => `element ${at}`));
  batch.hset('hash', { a: '1', b: '2' });
  batch.sadd('set', 'a', 'b', 'c');
  batch.zadd('zset', 1, 'a', 2.5, 'b');
  batch.xadd('stream', '1-1', 'f', 'v');
  batch.xgroup('CREATE', 'stream', 'group', '0');
  batch.set('deadline', 'v', 'PXAT', 4_000_000_000_000);
  batch.set('over', 'v', 'PX', 1);
  for (const name of LIBRARIES) batch.function('LOAD', codeOf(name));
  await batch.exec();
}, 300_000);

afterAll(async () => {
  client?.disconnect();
  rmSync(directory, { recursive: true, force: true });
  await cluster?.destroy();
}, 300_000);

const DATA_KEYS = KEYS + 6;

const LIBRARIES = ['one', 'two'];
const codeOf = (name: string) =>
  `#!lua name=${name}\nredis.register_function('${name}', function(keys) return redis.call('get', keys[1]) end)`;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function verb(...args: readonly string[]): Promise<Ran> {
  return run(process.execPath, [kvorum, ...args], { timeout: 120_000 }).then(
    (done) => ({ code: 0, ...done }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );
}

const backup = (...args: readonly string[]) => verb('backup', ...args, '--data', cluster.data);

/** What files of other partitions tell of libraries. */
const NONE = Array.from({ length: PARTITIONS - 1 }, () => undefined);

function manifestOf(at: string): Manifest {
  return JSON.parse(readFileSync(join(at, 'manifest.json'), 'utf8'));
}

/** A redis-server with that file's keys. */
async function loaded<T>(rdb: Buffer, use: (redis: RealRedis) => Promise<T>): Promise<T> {
  const place = mkdtempSync(join(tmpdir(), 'kvorum-rdb-'));
  writeFileSync(join(place, 'dump.rdb'), rdb);
  const bounds = ['--maxmemory', '1gb', '--proto-max-bulk-len', '16777216'];
  const redis = await RealRedis.start('--dir', place, '--appendonly', 'no', ...bounds);
  try {
    // while it loads it answers nothing else
    while ((await redis.call('ping')).kind === 'error') await pause(20);
    return await use(redis);
  } finally {
    await redis.stop();
    rmSync(place, { recursive: true, force: true });
  }
}

async function sizeOf(redis: RealRedis): Promise<number> {
  return Number(((await redis.call('dbsize')) as { value: number }).value);
}

async function textOf(redis: RealRedis, ...words: string[]): Promise<string> {
  const reply = await redis.call(...words);
  return reply.kind === 'bulk' ? reply.bytes.toString() : replyText(reply);
}

test.skipIf(!hasRedis)(
  'redis-cli --rdb at a gateway port: a stock server has all of it',
  async () => {
    const file = join(directory, 'whole.rdb');
    await run('redis-cli', ['-p', String(cluster.gatewayPort(1)), '--rdb', file]);
    await loaded(readFileSync(file), async (redis) => {
      expect(await sizeOf(redis)).toBe(DATA_KEYS);
      expect(await textOf(redis, 'get', 'text:299')).toBe('x'.repeat(299 * 40));
      expect(await textOf(redis, 'llen', 'list')).toContain('200');
      expect(await textOf(redis, 'zscore', 'zset', 'b')).toBe('2.5');
      expect(await textOf(redis, 'xinfo', 'groups', 'stream')).toContain('group');
      expect(await textOf(redis, 'pexpiretime', 'deadline')).toContain('4000000000000');
      for (const name of LIBRARIES)
        expect(await textOf(redis, 'fcall', name, '1', 'text:1')).toBe('x'.repeat(40));
    });
  },
);

test.skipIf(!hasRedis)('at the cluster ports: each what its node leads', async () => {
  let keys = 0;
  for (const node of [0, 1, 2]) {
    const file = join(directory, `${node}.rdb`);
    await run('redis-cli', ['-p', String(cluster.clusterPort(node)), '--rdb', file]);
    const own = await loaded(readFileSync(file), async (redis) => {
      for (const name of LIBRARIES) expect(await textOf(redis, 'function', 'list')).toContain(name);
      return sizeOf(redis);
    });
    expect(own).toBeLessThan(DATA_KEYS);
    keys += own;
  }
  expect(keys).toBe(DATA_KEYS);
});

test('kvorum backup writes a file for each partition, and verifies what it wrote', async () => {
  const at = join(directory, 'first');
  const made = await backup(at, '--json');
  expect(made.code, made.stderr).toBe(0);
  const manifest = manifestOf(at);
  expect(JSON.parse(made.stdout)).toEqual(manifest);
  const [namespace] = manifest.namespaces;
  expect(namespace).toMatchObject({ name: 'default', partitions: PARTITIONS, replicas: 3 });
  expect(namespace!.files.map(({ partition }) => partition)).toEqual([0, 1, 2, 3]);
  expect(namespace!.files.reduce((sum, { keys }) => sum + keys, 0)).toBe(DATA_KEYS);
  expect(namespace!.files.map(({ libraries }) => libraries)).toEqual([2, ...NONE]);
  expect(readFileSync(join(at, 'users.acl'), 'latin1')).toMatch(/^user default on /);
  expect(readdirSync(at).sort()).toEqual(['default', 'manifest.json', 'users.acl']);
  expect((await verb('backup', 'verify', at)).stdout).toContain(', 2 libraries of functions');
  // a directory that has one is not written over
  expect((await backup(at)).stderr).toContain('has a backup already');
  // nor is one waited for that cannot be made
  expect((await backup('/proc/none/at/all')).stderr).toContain('choose another directory');
  const file = join(at, 'default', '2.rdb');
  const bytes = readFileSync(file);
  bytes[60]! ^= 1;
  writeFileSync(file, bytes);
  const damaged = await verb('backup', 'verify', at);
  expect(damaged.code).toBe(1);
  expect(damaged.stdout).toContain('default/2.rdb is not what was written');
  rmSync(join(at, 'manifest.json'));
  expect((await verb('backup', 'verify', at)).stderr).toContain('is no backup: it has no manifest');
});

/** Counters that grow by one each, in turn: what a state has of them tells when it was. */
class Counters {
  readonly names = Array.from({ length: 16 }, (_, at) => `count:${at}`);
  readonly acknowledged = new Map<string, number>();
  readonly sent = new Map<string, number>();
  readonly #clients: Redis[] = [];
  readonly #tasks: Promise<void>[];
  #isRunning = true;

  constructor() {
    this.#tasks = this.names.map(async (name, at) => {
      const own = new Redis({
        port: cluster.gatewayPort(1 + (at % 2)),
        maxRetriesPerRequest: null,
      });
      own.on('error', () => {});
      this.#clients.push(own);
      for (let value = 1; this.#isRunning; value++) {
        this.sent.set(name, value);
        await own.set(name, value).then(
          () => this.acknowledged.set(name, value),
          () => {},
        );
      }
    });
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await Promise.all(this.#tasks);
    for (const one of this.#clients) one.disconnect();
  }
}

test('a client of SYNC that stops reading is sent no more, and one that goes leaves nothing', async () => {
  const big = client.pipeline();
  for (let at = 0; at < BIG; at++) big.set(`big:${at}`, Buffer.alloc(BIG_BYTES, `${at} `));
  await big.exec();
  const socket = connectSocket(cluster.gatewayPort(0), '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write('REPLCONF rdb-only 1\r\nSYNC\r\n');
  const own = new Redis({ port: cluster.gatewayPort(0) });
  // what waits for it in its node
  const waiting = async () => {
    const lines = String(await own.client('LIST')).split('\n');
    const line = lines.find((one) => one.includes('cmd=sync'));
    return line === undefined ? undefined : Number(/omem=(\d+)/.exec(line)?.[1]);
  };
  await eventually(30_000, 'the system takes no more', async () => ((await waiting()) ?? 0) > 0);
  for (let look = 0; look < 5; look++) {
    await pause(100);
    expect(await waiting()).toBeLessThan(4_000_000);
  }
  socket.destroy();
  await eventually(30_000, 'it is gone', async () => (await waiting()) === undefined);
  own.disconnect();
});

test.skipIf(!hasRedis)(
  'a leader is killed in the midst, under writes: each file is a state within the time of it',
  async () => {
    const counters = new Counters();
    await eventually(60_000, 'all count', () => counters.acknowledged.size === 16);
    const before = new Map(counters.acknowledged);
    // looked up before: a file takes two seconds, and a verb that asks may take longer on a busy machine
    const leaders = (await cluster.status()).partitions.map(({ leader }) => leader!);
    const at = join(directory, 'killed');
    const args = [kvorum, 'backup', at, '--data', cluster.data, '--rate', '6m', '--parallel', '2'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let told = '';
    child.stderr.on('data', (chunk: Buffer) => {
      told += chunk.toString();
    });
    const code = new Promise((resolve) => child.once('close', resolve));
    await eventually(60_000, 'files are being written', () => {
      const written = readdirSync(join(at, 'default')).find((name) => name.endsWith('.part'));
      if (written !== undefined) cluster.kill(leaders[Number.parseInt(written, 10)]!);
      return written !== undefined;
    });
    expect(await code, told).toBe(0);
    expect(told).toContain('begun anew: default/');
    const after = new Map(counters.sent);
    await counters.stop();
    const manifest = manifestOf(at);
    expect((await verb('backup', 'verify', at)).code).toBe(0);
    let keys = 0;
    for (const { file, keys: own, libraries } of manifest.namespaces[0]!.files) {
      await loaded(readFileSync(join(at, file)), async (redis) => {
        if (libraries !== undefined)
          expect(await textOf(redis, 'function', 'dump')).toContain('name=two');
        expect(await sizeOf(redis)).toBe(own);
        keys += own;
        for (const name of counters.names) {
          const value = Number(await textOf(redis, 'get', name));
          if (Number.isNaN(value)) continue;
          expect(value).toBeGreaterThanOrEqual(before.get(name)!);
          expect(value).toBeLessThanOrEqual(after.get(name)!);
        }
      });
    }
    expect(keys).toBe(DATA_KEYS + BIG + counters.names.length);
  },
  240_000,
);
