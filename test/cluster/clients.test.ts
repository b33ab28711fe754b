import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allLed, eventually, startCluster, type TestCluster } from './cluster.ts';

const run = promisify(execFile);
let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ partitions: 4 });
  await allLed(cluster, 4);
}, 300_000);

afterAll(async () => {
  await cluster.destroy();
}, 300_000);

/** Lines that redis-cli prints for commands given on its standard input. */
async function redisCli(args: readonly string[], input: readonly string[]): Promise<string[]> {
  const pending = run('redis-cli', [...args], { timeout: 30_000 });
  pending.child.stdin?.end(`${input.join('\n')}\n`);
  const { stdout } = await pending;
  return stdout.trimEnd().split('\n');
}

describe('the gateway port serves', () => {
  test('ioredis', async () => {
    const client = new Redis({ port: cluster.gatewayPort(0) });
    expect(await client.set('io', '1')).toBe('OK');
    expect(await client.incr('io')).toBe(2);
    expect(await client.mset('io:a', '1', 'io:b', '2', 'io:c', '3')).toBe('OK');
    expect(await client.mget('io:a', 'io:b', 'io:c', 'io:d')).toEqual(['1', '2', '3', null]);
    expect(await client.del('io:a', 'io:b', 'io:c', 'io:d')).toBe(3);
    expect(await client.dbsize()).toBe(1);
    expect(await client.keys('i*')).toEqual(['io']);
    expect(await client.expire('io', 100)).toBe(1);
    expect(await client.ttl('io')).toBeGreaterThan(95);
    await client.set('io:gone', 'x', 'PX', 30);
    await eventually(30_000, 'the key expires', async () => (await client.get('io:gone')) === null);
    expect(await client.exists('io:gone')).toBe(0);
    await expect(client.rename('io', 'elsewhere-1')).rejects.toThrow(/CROSSSLOT|no such key/);
    expect(await client.flushall()).toBe('OK');
    expect(await client.dbsize()).toBe(0);
    client.disconnect();
  });

  test('SCAN over all partitions finds every key', async () => {
    const client = new Redis({ port: cluster.gatewayPort(1) });
    const wanted = new Set<string>();
    const batch = client.pipeline();
    for (let at = 0; at < 500; at++) {
      batch.set(`scan:${at}`, at);
      wanted.add(`scan:${at}`);
    }
    await batch.exec();
    const found = new Set<string>();
    let cursor = '0';
    do {
      const [next, keys] = await client.scan(cursor, 'MATCH', 'scan:*', 'COUNT', 50);
      for (const key of keys) found.add(key);
      cursor = next;
    } while (cursor !== '0');
    expect(found).toEqual(wanted);
    await client.flushall();
    client.disconnect();
  });

  test('node-redis, which insists on RESP3', async () => {
    const client = createClient({ socket: { port: cluster.gatewayPort(2), host: '127.0.0.1' } });
    await client.connect();
    expect(await client.set('nr', 'x', { expiration: { type: 'EX', value: 60 } })).toBe('OK');
    expect(await client.get('nr')).toBe('x');
    expect(await client.ttl('nr')).toBeGreaterThan(50);
    client.destroy();
  });

  test('redis-cli', async () => {
    const port = ['-p', String(cluster.gatewayPort(0))];
    const lines = await redisCli(port, ['SET rc hello', 'GET rc', 'STRLEN rc', 'NOPE', 'PING']);
    expect(lines.slice(0, 3)).toEqual(['OK', 'hello', '5']);
    expect(lines.join('\n')).toContain("ERR unknown command 'NOPE'");
    expect(lines.at(-1)).toBe('PONG');
    expect((await redisCli([...port, '-3'], ['HELLO 3'])).join(' ')).toContain('7.4.0');
  });
});

describe('the cluster ports serve', () => {
  test('ioredis Cluster', async () => {
    const client = new Redis.Cluster([{ host: '127.0.0.1', port: cluster.clusterPort(1) }]);
    for (let at = 0; at < 200; at++) expect(await client.set(`ic:${at}`, at)).toBe('OK');
    for (let at = 0; at < 200; at++) expect(await client.get(`ic:${at}`)).toBe(String(at));
    expect(await client.mget('{ic}1', '{ic}2')).toEqual([null, null]);
    await expect(client.mget('ic:1', 'ic:2')).rejects.toThrow(/slot/i);
    client.disconnect();
  });

  test('redis-cli -c', async () => {
    const port = ['-c', '-p', String(cluster.clusterPort(2))];
    const lines = await redisCli(port, ['SET rcc:1 a', 'SET rcc:2 b', 'GET rcc:1', 'GET rcc:2']);
    expect(lines.filter((line) => !line.startsWith('->'))).toEqual(['OK', 'OK', 'a', 'b']);
  });
});
