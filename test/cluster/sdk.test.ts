/** The SDK and its examples on a real cluster, which `startCluster` of kvorum/testing makes. */
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Client, ClientError } from '../../src/sdk/index.ts';
import { type Cluster, startCluster } from '../../src/testing/start-cluster.ts';
import { noteCommandStats } from '../sent-commands.ts';
import { type AnyClient, families } from './client-families.ts';
import { eventually, pause } from './cluster.ts';

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
}, 300_000);

afterAll(async () => {
  const stats = await client?.info('commandstats').catch(() => undefined);
  if (stats !== undefined) noteCommandStats(stats);
  await client?.close();
  await cluster?.stop();
}, 300_000);

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
  for (const whole of [client, gateway]) {
    expect(await whole.dbsize()).toBeGreaterThanOrEqual(500);
    const found = new Set<string>();
    for await (const step of whole.scanKeys({ match: 'many:*', count: 100 })) {
      for (const key of step.keys) found.add(key);
    }
    expect(found.size).toBe(500);
  }
  // a part would be told for the whole
  await expect(other.dbsize()).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  await expect(other.scanKeys().next()).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
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

  test.each(files)(
    '%s',
    async (name) => {
      const env = { ...process.env, KVORUM_URL: cluster.url() };
      const options = { env, timeout: 120_000 };
      await promisify(execFile)(process.execPath, [join(root, 'examples', name)], options);
    },
    130_000,
  );
});

test('a user with no rights but those that the documentation names', async () => {
  const rights = [
    '+select',
    '+kv.session',
    '+get',
    '+set',
    '+multi',
    '+exec',
    '+watch',
    '+unwatch',
  ];
  await client.acl('SETUSER', 'few', 'reset', 'on', '>secret', '~few:*', ...rights);
  await using few = client.duplicate({ username: 'few', password: 'secret' });
  // other nodes hear of a user a moment later
  await eventually(10_000, 'the user is known', async () => (await few.set('few:a', 1)) === 'OK');
  expect(await few.get('few:a')).toBe('1');
  expect(['1', null]).toContain(await few.get('few:a', { consistency: 'stale' }));
  expect(await few.multi().set('few:a', 2).exec()).toEqual([[null, 'OK']]);
  const raised = few.watch('few:a', async (tx) =>
    tx.multi().set('few:a', `${await tx.get('few:a')}0`),
  );
  expect(await raised).toEqual([[null, 'OK']]);
  expect(await client.get('few:a')).toBe('20');

  await client.acl('SETUSER', 'none', 'reset', 'on', '>secret', '~*', '+@all', '-select');
  await using none = client.duplicate({ username: 'none', password: 'secret' });
  await eventually(10_000, 'it says which right is lacking', async () => {
    const error: unknown = await none.get('few:a').catch((failure: unknown) => failure);
    return (
      error instanceof ClientError && /refuses this client: NOPERM .*'select'/.test(error.message)
    );
  });
  await client.acl('DELUSER', 'few', 'none');
});

test('a watch: only what nobody has changed meanwhile', async () => {
  await client.mset({ '{shop}:stock': 3, '{shop}:sold': 0 });
  const buy = () =>
    client.watch('{shop}:stock', async (tx) => {
      const left = Number(await tx.get('{shop}:stock'));
      return left > 0 ? tx.multi().decr('{shop}:stock').incr('{shop}:sold') : undefined;
    });
  const bought = await Promise.all(Array.from({ length: 8 }, buy));
  expect(bought.filter((one) => one !== undefined)).toHaveLength(3);
  expect(await client.mget('{shop}:stock', '{shop}:sold')).toEqual(['0', '3']);
  let disturbed = 0;
  const result = await client.watch('{shop}:stock', async (tx) => {
    await tx.get('{shop}:stock');
    if (tx.attempt === 1) disturbed += Number(await client.incrby('{shop}:stock', 10));
    return tx.multi().get('{shop}:stock');
  });
  expect([disturbed, result]).toEqual([10, [[null, '10']]]);
  const never = client.watch(
    '{shop}:stock',
    async (tx) => {
      await client.incr('{shop}:stock');
      return tx.multi().set('{shop}:stock', 0);
    },
    { attemptsMax: 3 },
  );
  await expect(never).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(await client.get('{shop}:stock')).toBe('13');
});

test('under a session a command follows its partition on the cluster ports, and runs once', async () => {
  const nodes = cluster.clusterPorts.map((address) => {
    const [host, port] = address.split(':');
    return new Redis({ host: host!, port: Number(port) });
  });
  /** The counter; below 0: MOVED, to the node of that place (-1 is the first). */
  const once = (at: number, sequence: number) =>
    nodes[at]!.call('KV.ONCE', 'wire-session', sequence, 1, 'INCR', 'wire').then(
      Number,
      (error: Error) => {
        const port = /^MOVED \d+ 127\.0\.0\.1:(\d+)$/.exec(error.message)?.[1];
        if (port === undefined) throw error;
        return -1 - cluster.clusterPorts.indexOf(`127.0.0.1:${port}`);
      },
    );
  try {
    await client.call('DEL', 'wire');
    const partition = client.partitionOf('wire')!;
    const opened = await Promise.allSettled(
      nodes.map((node) => node.call('KV.SESSION', 'OPEN', 'wire-session', 'wire')),
    );
    const first = opened.findIndex(({ status }) => status === 'fulfilled');
    expect(opened.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await once(first, 1)).toBe(1);
    const next = (first + 1) % nodes.length;
    // else the master may even out what the test moves, before the test is done with it
    const balance = (enable: boolean) =>
      fetch(`http://${cluster.placedrivers[0]}/cluster/balance?enable=${enable}`, {
        method: 'POST',
      });
    expect((await balance(false)).status).toBe(200);
    const path = `/v1/namespaces/default/partitions/${partition}/transfer-leader`;
    const moved = await fetch(`http://${cluster.placedrivers[0]}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ to: `datanode${next + 1}` }),
    });
    expect(moved.ok, await moved.text()).toBe(true);
    await expect.poll(() => once(first, 1), { timeout: 60_000 }).toBe(-1 - next);
    expect(await once(next, 1)).toBe(1);
    expect(await once(next, 2)).toBe(2);
    expect(await once(next, 2)).toBe(2);
    expect(await client.get('wire')).toBe('2');
    expect((await balance(true)).status).toBe(200);
  } finally {
    for (const node of nodes) node.disconnect();
  }
}, 300_000);

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
  // Four over two counters: they meet each other's changes.
  const watchers = Array.from({ length: 4 }, async (_, at) => {
    const key = `watched:${at % 2}`;
    while (running) {
      try {
        await client.watch(key, async (tx) => tx.multi().set(key, Number(await tx.get(key)) + 1));
        acknowledged.set(key, (acknowledged.get(key) ?? 0) + 1);
      } catch (error) {
        const code = error instanceof ClientError ? error.code : String(error);
        if (code === 'OUTCOME_UNKNOWN') unknown.set(key, (unknown.get(key) ?? 0) + 1);
        // on a slow machine one may lose to the other each time: then nothing of it was done
        else if (!/attempts met a changed key$/.test(String(error)))
          failures.push(`${key}: ${error}`);
      }
    }
  });
  const told: number[] = [];
  const abort = new AbortController();
  const walk = (async () => {
    for await (const change of client.changes({ signal: abort.signal })) {
      if (change.kind === 'leader') told.push(change.partition);
    }
  })();
  await pause(500);
  cluster.kill(1);
  await pause(4_000);
  await eventually(60_000, 'others lead, are told of, and are written to', () => {
    return told.length > 0 && (acknowledged.get('watched:0') ?? 0) > 10;
  });
  running = false;
  await Promise.all([...loads, ...watchers]);
  abort.abort();
  await walk;
  // What was led there has another leader, and who reads along was told.
  expect(told.length).toBeGreaterThan(0);
  expect(failures).toEqual([]);
  if (sessionsServed) expect([...unknown]).toEqual([]);
  expect(acknowledged.get('watched:0')).toBeGreaterThan(10);
  for (const key of [...counters, 'watched:0', 'watched:1']) {
    const value = Number(await client.get(key));
    const least = acknowledged.get(key) ?? 0;
    expect(value, key).toBeGreaterThanOrEqual(least);
    expect(value, key).toBeLessThanOrEqual(least + (unknown.get(key) ?? 0));
  }
});
