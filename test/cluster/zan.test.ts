/** ZanRedisDB's clients on a cluster of processes: leaders move and die under their load. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freeZanPort } from '../ports.ts';
import { scale } from '../scale.ts';
import { askJson, transferLead } from './ask.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { type Answer, ZanSdk } from './zan-sdk.ts';

const PARTITIONS = 6;
let cluster: TestCluster;
let sdk: ZanSdk;
let http: string;
let zanPort: number;

beforeAll(async () => {
  zanPort = await freeZanPort(3);
  cluster = await startCluster({
    partitions: 1,
    flags: ['--zan-port', String(zanPort)],
  });
  http = `http://127.0.0.1:${cluster.ports.http}`;
  // else the master evens out what the test moves
  const still = await fetch(`${http}/cluster/balance?enable=false`, { method: 'POST' });
  expect(still.status, await still.text()).toBe(200);
  const create = `namespace=zan&partition_num=${PARTITIONS}&replicator=3&hash=murmur3`;
  const made = await fetch(`${http}/cluster/namespace/create?${create}`, { method: 'POST' });
  expect(made.status, await made.text()).toBe(200);
  await eventually(60_000, 'every partition is led', async () => {
    const { partitions } = await json('/query/zan');
    const leaders = Object.values(partitions as Record<string, { leader: { node_id: string } }>);
    return leaders.length === PARTITIONS && leaders.every(({ leader }) => leader.node_id !== '');
  });
  sdk = await ZanSdk.open('zan', `127.0.0.1:${cluster.ports.http}`);
});

afterAll(async () => {
  sdk?.close();
  await cluster?.destroy();
}, 300_000);

const json = (path: string) => askJson<Record<string, unknown>>(`${http}${path}`);

const ports = () => [0, 1, 2].map((at) => String(zanPort + at));

describe('the placedriver', () => {
  test('tells what the SDK reads, in its types', async () => {
    const { pdnodes } = (await json('/listpd')) as { pdnodes: Record<string, unknown>[] };
    expect(pdnodes).toHaveLength(1);
    expect(pdnodes[0]).toMatchObject({
      NodeIP: '127.0.0.1',
      HttpPort: String(cluster.ports.http),
      Tags: {},
    });
    const { nodes } = (await json('/datanodes')) as { nodes: Record<string, unknown>[] };
    expect(nodes.map((node) => node['redis_port']).sort()).toEqual(ports());
    const query = await json('/query/zan');
    expect(query['partition_num']).toBe(PARTITIONS);
    const partitions = query['partitions'] as Record<
      string,
      { leader: Record<string, string>; replicas: Record<string, string>[] }
    >;
    expect(Object.keys(partitions)).toEqual(['0', '1', '2', '3', '4', '5']);
    for (const { leader, replicas } of Object.values(partitions)) {
      expect(replicas.map((node) => node['redis_port']).sort()).toEqual(ports());
      expect(replicas).toContainEqual(leader);
      expect(typeof leader['http_port']).toBe('string');
    }
  });

  test('answers an unchanged table with nothing', async () => {
    const before = sdk.unchanged;
    // leaders may still go where the table wants them: then it has changed once more
    await eventually(60_000, 'the table stays, and is spread over all nodes', async () => {
      await sdk.tend();
      return sdk.unchanged > before && sdk.nodes.length === 3;
    });
    expect(sdk.lookups).toEqual([`127.0.0.1:${cluster.ports.http}`]);
    expect([...sdk.nodes].sort()).toEqual(ports().map((port) => `127.0.0.1:${port}`));
  });
});

/** What is left of a key's time: more than a machine that stands still for a while takes of it. */
async function secondsOf(command: 'ttl' | 'httl', key: string): Promise<number> {
  const seconds = Number(await sdk.do(command, key));
  expect(seconds, key).toBeGreaterThan(20);
  return seconds;
}

test('commands, and scans over all nodes', async () => {
  const names = Array.from({ length: 300 }, (_, at) => `k${at}`);
  await Promise.all(names.map((name) => sdk.do('set', `scans:${name}`, name)));
  await Promise.all(names.slice(0, 20).map((name) => sdk.do('hset', `scans:h${name}`, 'f', name)));
  expect(await sdk.do('get', 'scans:k7')).toBe('k7');
  expect(await sdk.do('setifeq', 'scans:k7', 'k7', 'new', 'ex', '100')).toBe(1);
  expect(await secondsOf('ttl', 'scans:k7')).toBeLessThanOrEqual(100);
  expect(await sdk.do('hexpire', 'scans:hk7', '50')).toBe(1);
  expect(await secondsOf('httl', 'scans:hk7')).toBeLessThanOrEqual(50);
  expect(await sdk.do('hscan', 'scans:hk7', '', 'count', '50')).toEqual(['', ['f', 'k7']]);
  const sorted = (found: Answer[]) => found.map(String).sort();
  expect(sorted(await sdk.scan('SCAN', 'KV', 'scans'))).toEqual([...names].sort());
  expect(sorted(await sdk.scan('ADVREVSCAN', 'KV', 'scans'))).toEqual([...names].sort());
  expect(await sdk.scan('ADVSCAN', 'HASH', 'scans')).toHaveLength(20);
  expect(await sdk.scan('FULLSCAN', 'HASH', 'scans')).toContainEqual(['hk3', ['f', 'k3']]);
});

interface Load {
  /** Ends it; resolves when the last request has its answer. */
  stop(): Promise<void>;
  readonly done: number;
  readonly errors: readonly string[];
}

/** Clients that each send one request after the other. */
function load(clients: number, one: (client: number, turn: number) => Promise<unknown>): Load {
  const errors: string[] = [];
  let going = true;
  let done = 0;
  const run = async (client: number) => {
    for (let turn = 0; going; turn++) {
      try {
        await one(client, turn);
        done++;
      } catch (error) {
        errors.push(String(error));
      }
    }
  };
  const all = Array.from({ length: clients }, (_, client) => run(client));
  return {
    stop: async () => {
      going = false;
      await Promise.all(all);
    },
    get done() {
      return done;
    },
    errors,
  };
}

const transfer = (partition: number, to: string) =>
  transferLead(cluster.ports.http, ['zan', partition], to);

async function leaderOf(partition: number): Promise<string> {
  const { partitions } = await json('/query/zan');
  return (partitions as Record<string, { leader: { node_id: string } }>)[partition]!.leader.node_id;
}

test('leaders that are transferred: no error is left, and each write takes effect once', async () => {
  const counts = new Map<string, number>();
  const before = sdk.retries.get(
    'ERR_CLUSTER_CHANGED: partition of the namespace is not leader on the node',
  );
  const work = load(8, async (client, turn) => {
    const key = `count:${client}-${turn % 12}`;
    const answer = await sdk.do('incr', key);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    expect(answer).toBe(counts.get(key));
  });
  for (let turn = 0; turn < scale.zanTransfers; turn++) {
    const partition = turn % PARTITIONS;
    const now = await leaderOf(partition);
    const to = ['datanode1', 'datanode2', 'datanode3'].find((node) => node !== now)!;
    await transfer(partition, to);
    await eventually(
      60_000,
      `${to} leads ${partition}`,
      async () => (await leaderOf(partition)) === to,
    );
    await pause(200);
  }
  const moved = () =>
    sdk.retries.get('ERR_CLUSTER_CHANGED: partition of the namespace is not leader on the node');
  await eventually(60_000, 'clients have met a leader that moved', () => {
    return (moved() ?? 0) > (before ?? 0) && work.done > scale.zanTransfers;
  });
  await work.stop();
  expect(work.errors).toEqual([]);
  expect(work.done).toBeGreaterThan(scale.zanTransfers);
  const after = moved();
  expect(after ?? 0, 'leaders did move').toBeGreaterThan(before ?? 0);
  for (const [key, count] of counts) expect(await sdk.do('get', key)).toBe(String(count));
});

test('a leader that is killed: no error is left, and nothing acknowledged is lost', async () => {
  const written = new Map<string, string>();
  const work = load(8, async (client, turn) => {
    const key = `kept:${client}-${turn % 40}`;
    const value = String(turn);
    await sdk.do('set', key, value);
    written.set(key, value);
    expect(await sdk.do('get', key)).toBe(value);
  });
  await pause(300);
  const name = await leaderOf(0);
  const epoch = sdk.epoch;
  cluster.kill(name);
  await eventually(
    60_000,
    'another leads',
    async () => (await leaderOf(0)) !== name && sdk.epoch > epoch,
  );
  await pause(1_000);
  await eventually(60_000, 'enough is written', () => written.size > 8);
  await work.stop();
  expect(work.errors).toEqual([]);
  expect(written.size).toBeGreaterThan(8);
  for (const [key, value] of written) expect(await sdk.do('get', key), key).toBe(value);
});
