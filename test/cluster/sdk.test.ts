/** The SDK and its examples on a real cluster, which `startCluster` of kvorum/testing makes. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client, ClientError } from '../../src/sdk/index.ts';
import { type Cluster, startCluster } from '../../src/testing/start-cluster.ts';
import { noteCommandStats } from '../sent-commands.ts';
import { type AnyClient, families } from './client-families.ts';
import { pause } from './cluster.ts';

/**
 * Whether the datanodes of this build know KV.SESSION and KV.ONCE. The one switch: with true, writes
 * may not fail at all while nodes are killed.
 */
const sessionsServed = true;

const root = join(import.meta.dirname, '..', '..');
let cluster: Cluster;
let client: Client;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 3, partitions: 4 });
  client = new Client(cluster.url());
}, 90_000);

afterAll(async () => {
  const stats = await client?.info('commandstats').catch(() => undefined);
  if (stats !== undefined) noteCommandStats(stats);
  await client?.close();
  await cluster?.stop();
}, 60_000);

// The family of errors looks at what ioredis adds to them.
const ours = Object.entries(families).filter(([name]) => name !== 'errors');

test.each(ours)('%s', async (name, family) => {
  await family(client as unknown as AnyClient, `{sdk ${name}}`);
});

test('many keys of all partitions at once, read back by any other client', async () => {
  const keys = Array.from({ length: 500 }, (_, at) => `many:${at}`);
  await Promise.all(keys.map((key, at) => client.set(key, at)));
  await using other = new Client(`redis://${cluster.clusterPorts.join(',')}`);
  expect(await other.mget(keys)).toEqual(keys.map((_, at) => String(at)));
  await using gateway = new Client({ datanodes: [...cluster.gateways] });
  expect(await gateway.exists(keys)).toBe(500);
  expect(await client.dbsize()).toBeGreaterThanOrEqual(500);
  const found = new Set<string>();
  for await (const step of client.scanKeys({ match: 'many:*', count: 100 })) {
    for (const key of step.keys) found.add(key);
  }
  expect(found.size).toBe(500);
});

test('keys of several partitions that are gathered by a node', async () => {
  await client.sadd('gathered:a', 1, 2, 3);
  await client.sadd('gathered:b', 2, 3, 4);
  expect([...(await client.sinter('gathered:a', 'gathered:b'))].sort()).toEqual(['2', '3']);
});

test('a client that blocks, and one that wakes it', async () => {
  const waits = client.blpop('wake', 20);
  await pause(50);
  await client.rpush('wake', 'up');
  expect(await waits).toEqual(['wake', 'up']);
});

describe('examples', () => {
  const files = readdirSync(join(root, 'examples')).filter((name) => /\.[cm]js$/.test(name));

  test('there is one per topic', () => expect(files.length).toBeGreaterThan(8));

  test.each(files)('%s', async (name) => {
    const env = { ...process.env, KVORUM_URL: cluster.url() };
    const options = { env, timeout: 30_000 };
    await promisify(execFile)(process.execPath, [join(root, 'examples', name)], options);
  });
});

test('a node is killed under load: nothing acknowledged is lost, nothing is done twice', async () => {
  const counters = Array.from({ length: 16 }, (_, at) => `count:${at}`);
  const acknowledged = new Map<string, number>();
  const unknown = new Map<string, number>();
  const failures: string[] = [];
  let running = true;
  const loads = counters.map(async (key) => {
    while (running) {
      try {
        await client.incr(key);
        acknowledged.set(key, (acknowledged.get(key) ?? 0) + 1);
        await client.get(key);
      } catch (error) {
        const code = error instanceof ClientError ? error.code : String(error);
        if (code === 'OUTCOME_UNKNOWN') unknown.set(key, (unknown.get(key) ?? 0) + 1);
        else failures.push(`${key}: ${error}`);
      }
    }
  });
  await pause(500);
  cluster.kill(1);
  await pause(4_000);
  running = false;
  await Promise.all(loads);
  expect(failures).toEqual([]);
  if (sessionsServed) expect([...unknown]).toEqual([]);
  for (const key of counters) {
    const value = Number(await client.get(key));
    const least = acknowledged.get(key) ?? 0;
    expect(value, key).toBeGreaterThanOrEqual(least);
    expect(value, key).toBeLessThanOrEqual(least + (unknown.get(key) ?? 0));
  }
});
