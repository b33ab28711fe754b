/** redis-cli in its modes and redis-benchmark, as Debian ships them, on both kinds of ports. */
import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, ledAsWanted, startCluster, type TestCluster } from './cluster.ts';

const run = promisify(execFile);
const KEYS = 120;
const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  // each node tells of what it leads: while leaders move, the sum over nodes is of no moment
  await ledAsWanted(cluster, 4);
  const client = new Redis({ port: cluster.gatewayPort(0) });
  const batch = client.pipeline();
  for (let at = 0; at < KEYS; at++) batch.set(`text:${at}`, 'x'.repeat(at));
  batch.rpush('tool:list', ...Array.from({ length: 200 }, (_, at) => `element ${at}`));
  batch.hset('tool:hash', { a: '1', b: '2' });
  batch.sadd('tool:set', 'a', 'b', 'c');
  batch.zadd('tool:zset', 1, 'a', 2, 'b');
  await batch.exec();
  client.disconnect();
}, 300_000);

afterAll(() => cluster?.destroy(), 300_000);

/** What redis-cli prints, without the colours of its verdicts. */
async function redisCli(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('redis-cli', [...args], { timeout: 60_000 });
  return stdout.replaceAll(colour, '');
}

const gateway = (node = 0) => ['-p', String(cluster.gatewayPort(node))];

describe('redis-cli', () => {
  test('--stat prints a line per interval', async () => {
    // it never ends and, unless told otherwise, keeps what it prints for a pipe
    const args = ['-oL', 'redis-cli', ...gateway(), '--stat', '-i', '0.1'];
    const child = spawn('stdbuf', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    const rows = () => text.split('\n').filter((line) => /^\d/.test(line));
    await eventually(20_000, 'three lines', async () => rows().length >= 3);
    child.kill('SIGKILL');
    expect(text).toContain('keys       mem      clients blocked requests            connections');
    const row = /^(\d+) +([\d.]+[KMG]) +(\d+) +(\d+) +(\d+) \(\+(\d+)\) +(\d+)/;
    const columns = row.exec(rows()[2]!);
    expect(columns, rows()[2]).not.toBe(null);
    const [keys, , clients, blocked, requests, more] = columns!.slice(1);
    // of this node: each tells of what it leads
    expect(Number(keys)).toBeLessThanOrEqual(KEYS + 4);
    const told = await Promise.all(
      [0, 1, 2].map((node) => redisCli(...gateway(node), 'INFO', 'keyspace')),
    );
    const counts = told.map((info) => Number(/db0:keys=(\d+)/.exec(info)?.[1] ?? 0));
    expect(counts.reduce((total, count) => total + count)).toBe(KEYS + 4);
    expect(Number(clients)).toBeGreaterThanOrEqual(1);
    expect(Number(blocked)).toBe(0);
    expect(Number(requests)).toBeGreaterThan(0);
    expect(Number(more)).toBeGreaterThan(0);
  });

  test('--bigkeys finds the biggest of each type', async () => {
    const text = await redisCli(...gateway(), '--bigkeys');
    expect(text).toContain(`Sampled ${KEYS + 4} keys in the keyspace!`);
    expect(text).toContain(`Biggest string found '"text:119"' has 119 bytes`);
    expect(text).toContain(`Biggest   list found '"tool:list"' has 200 items`);
    expect(text).toContain(`Biggest   hash found '"tool:hash"' has 2 fields`);
    expect(text).toContain(`Biggest    set found '"tool:set"' has 3 members`);
    expect(text).toContain(`Biggest   zset found '"tool:zset"' has 2 members`);
  });

  test('--memkeys weighs values with all that is in them', async () => {
    const text = await redisCli(...gateway(1), '--memkeys');
    expect(text).toContain(`Sampled ${KEYS + 4} keys in the keyspace!`);
    const bytesOf = (type: string, key: string) =>
      Number(new RegExp(`Biggest +${type} found '"${key}"' has (\\d+) bytes`).exec(text)?.[1]);
    // 200 elements of some ten bytes, each with a key of its own
    expect(bytesOf('list', 'tool:list')).toBeGreaterThan(200 * 20);
    expect(bytesOf('list', 'tool:list')).toBeLessThan(200 * 100);
    expect(bytesOf('string', 'text:119')).toBeGreaterThan(119);
    expect(bytesOf('set', 'tool:set')).toBeGreaterThan(60);
  });

  test('--scan lists every key once, and those of a pattern and a type', async () => {
    const all = (await redisCli(...gateway(2), '--scan')).trimEnd().split('\n');
    expect(all).toHaveLength(KEYS + 4);
    expect(new Set(all).size).toBe(KEYS + 4);
    const some = (await redisCli(...gateway(), '--scan', '--pattern', 'text:1?')).trimEnd();
    expect(some.split('\n').sort()).toEqual(Array.from({ length: 10 }, (_, at) => `text:1${at}`));
  });

  test('-x, --csv, --raw and -3', async () => {
    const set = run('redis-cli', [...gateway(), '-x', 'SET', 'tool:x']);
    set.child.stdin?.end('from a pipe');
    expect((await set).stdout).toBe('OK\n');
    expect(await redisCli(...gateway(), 'GET', 'tool:x')).toBe('from a pipe\n');
    expect(await redisCli(...gateway(), '--csv', 'HMGET', 'tool:hash', 'a', 'z')).toBe(
      '"1",NULL\n',
    );
    const pairs = await redisCli(...gateway(), '-3', '--no-raw', 'HGETALL', 'tool:hash');
    expect(pairs.trimEnd().split('\n').sort().join()).toMatch(/^1# "[ab]" => "[12]",2# "[ab]"/);
    await redisCli(...gateway(), 'DEL', 'tool:x');
  });

  test('--cluster info and check', async () => {
    const place = `127.0.0.1:${cluster.clusterPort(0)}`;
    const info = await redisCli('--cluster', 'info', place);
    const nodes = [...info.matchAll(/-> (\d+) keys \| (\d+) slots \| 0 slaves/g)];
    expect(nodes).toHaveLength(3);
    const sum = (column: number) =>
      nodes.reduce((total, found) => total + Number(found[column]), 0);
    expect([sum(1), sum(2)]).toEqual([KEYS + 4, 16_384]);
    expect(info).toContain(`[OK] ${KEYS + 4} keys in 3 masters.`);
    const check = await redisCli('--cluster', 'check', place);
    expect(check).toContain('[OK] All nodes agree about slots configuration.');
    expect(check).toContain('[OK] All 16384 slots covered.');
    expect(check).not.toMatch(/\[ERR\]|\[WARNING\]/);
  });
});

const DEFAULT_TESTS = [
  ...['PING_INLINE', 'PING_MBULK', 'SET', 'GET', 'INCR', 'LPUSH', 'RPUSH', 'LPOP', 'RPOP', 'SADD'],
  ...['HSET', 'SPOP', 'ZADD', 'ZPOPMIN', 'LPUSH (needed to benchmark LRANGE)'],
  ...['LRANGE_100 (first 100 elements)', 'LRANGE_300 (first 300 elements)'],
  ...['LRANGE_500 (first 500 elements)', 'LRANGE_600 (first 600 elements)', 'MSET (10 keys)'],
];

describe('redis-benchmark runs all its default tests', () => {
  const doors: readonly (readonly [string, () => readonly string[]])[] = [
    ['on a gateway port', () => gateway(1)],
    ['--cluster', () => ['-p', String(cluster.clusterPort(1)), '--cluster']],
  ];
  const cases = doors.flatMap(([name, args]) =>
    [1, 16].map((pipeline) => [`${name} -P ${pipeline}`, args, pipeline] as const),
  );
  test.each(cases)(
    '%s',
    async (_name, args, pipeline) => {
      const counts = ['-n', '150', '-c', '12', '-r', '1000', '-P', String(pipeline), '-q'];
      const { stdout, stderr } = await run('redis-benchmark', [...args(), ...counts], {
        timeout: 240_000,
      });
      const text = `${stdout}\n${stderr}`.replaceAll('\r', '\n');
      const rated = [...text.matchAll(/^(.+): ([\d.]+) requests per second/gm)];
      expect(rated.map(([, name]) => name)).toEqual(DEFAULT_TESTS);
      expect(rated.every(([, , rate]) => Number(rate) > 0)).toBe(true);
      // nodes that lead nothing at the moment are named, and left out
      const rest = text.replaceAll(/^WARNING: Master node .* has no slots, skipping\.\.\.$/gm, '');
      expect(rest.split('\n').filter((line) => /error|warn|moved|slot/i.test(line))).toEqual([]);
    },
    250_000,
  );
});
