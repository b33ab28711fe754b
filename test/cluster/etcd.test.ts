import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isAlive } from '../../src/cli/run-file.ts';
import { type EtcdProcess, startEtcd } from '../meta/etcd-process.ts';
import { etcdctl } from '../meta/served.ts';
import { scale } from '../scale.ts';
import { askPort } from './ask.ts';
import {
  eventually,
  ledAsWanted,
  pause,
  planCluster,
  startCluster,
  type TestCluster,
} from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect, Load, type LoadReport } from './load.ts';

const ended = endedAfterEach();

const PARTITIONS = 4;
const WRITES_MIN = 500;

let store: EtcdProcess;
let running: TestCluster;
let loads = 0;

// One cluster for the whole file: what happens to etcd is to leave it as it was.
beforeAll(async () => {
  store = await startEtcd();
  running = await startCluster({ partitions: PARTITIONS, flags: ['--etcd', store.url] });
}, 400_000);

afterAll(async () => {
  // a cluster whose store stands still does not stop
  store?.resume();
  await running?.destroy();
  await store?.stop();
}, 300_000);

function startLoad(): Load {
  return ended(
    new Load({
      ports: [0, 1, 2].map((node) => running.gatewayPort(node)),
      clusterPorts: [0, 1, 2].map((node) => running.clusterPort(node)),
      partitions: PARTITIONS,
      writers: 6,
      readers: 3,
      keysPerWriter: 16,
      prefix: `load ${loads++}`,
    }),
  );
}

/** What of the data path a pause would change: who leads each partition, in which term, and how many waited for one. */
async function dataPath(): Promise<string[]> {
  let led: string[] = [];
  // a node that is late with its answer does not say what it leads
  await eventually(60_000, 'every node says what it leads', async () => {
    const { partitions } = await running.status();
    led = partitions.map(({ partition, leader, term }) => `${partition} ${leader} ${term}`);
    return partitions.length === PARTITIONS && partitions.every(({ leader }) => leader !== null);
  });
  return [...led, ...(await Promise.all([0, 1, 2].map(heldBy)))];
}

/** Requests that waited for a leader, ever. */
async function heldBy(node: number): Promise<string> {
  const client = connect(running.gatewayPort(node));
  const text = await client.info('kvorum');
  client.disconnect();
  return `datanode${node + 1} ${/^total_held_requests:\d+/m.exec(text)?.[0]}`;
}

/** The longest gap is shown alone: how long a busy machine lets nobody write tells nothing of etcd. */
function expectUndisturbed(report: LoadReport): void {
  process.stdout.write(`${JSON.stringify(report)}\n`);
  expect(report.violations).toEqual([]);
  expect([report.unknown, report.refused]).toEqual([0, 0]);
  expect(report.writes).toBeGreaterThan(WRITES_MIN);
}

async function stable(): Promise<boolean> {
  type Stats = { stable: boolean; datanodes: number; master: boolean };
  const stats = await askPort<Stats>(running.ports.http, '/cluster/stats');
  return stats.stable && stats.datanodes === 3 && stats.master;
}

const wholePath = [1, 2, 3].map((number) => `datanode${number}`);
const everybody = [...wholePath, 'placedriver1'];

function logOf(name: string): string {
  return readFileSync(join(running.data, 'log', `${name}.log`), 'utf8');
}

/** What each process has logged since this was called. */
function logsFromNow(): (name: string) => string {
  const before = new Map(everybody.map((name) => [name, logOf(name).length]));
  return (name) => logOf(name).slice(before.get(name));
}

/** What a node's registration says, and the lease that it is under. */
async function registrationOf(
  name: string,
): Promise<{ readonly lease: string; readonly value: string }> {
  const text = await etcdctl(store.url, 'get', `/kvorum/nodes/${name}`, '-w', 'json');
  // a lease's number has more digits than a double holds
  const lease = /"lease":(\d+)/.exec(text)?.[1];
  if (lease === undefined) throw new Error(`${name} is not registered: ${text}`);
  return { lease, value: JSON.parse(text).kvs[0].value };
}

describe('kvorum start --etcd', () => {
  test('keeps its metadata in etcd, runs no store of its own, and has it all after a restart', async () => {
    const { processes, partitions } = await running.status();
    expect(processes.map(({ name, alive }) => [name, alive])).toEqual(
      everybody.map((name) => [name, true]),
    );
    expect(partitions).toHaveLength(PARTITIONS);
    const run = readFileSync(join(running.data, 'run', 'placedriver1.json'), 'utf8');
    expect(JSON.parse(run).ports).toEqual({ http: running.ports.http });
    expect(await etcdctl(store.url, 'get', '--prefix', '--keys-only', '/kvorum/')).toContain(
      '/kvorum/partitions/default/00003',
    );
    await eventually(60_000, 'stable', () => stable());
    const client = connect(running.gatewayPort(0));
    await client.set('kept', 'yes');
    client.disconnect();
    await running.stop();
    await store.kill();
    await store.start();
    await running.start();
    const again = connect(running.gatewayPort(2));
    expect(await again.get('kept')).toBe('yes');
    again.disconnect();
    await eventually(60_000, 'stable again', () => stable());
  }, 300_000);

  test.each([
    ['frozen', (it: EtcdProcess) => it.pause(), async (it: EtcdProcess) => it.resume()],
    ['killed', (it: EtcdProcess) => it.kill(), (it: EtcdProcess) => it.start()],
  ])(
    `etcd ${'%s'} for ${scale.etcdAwaySeconds} s: the data path does not notice`,
    async (_how, away, back) => {
      await eventually(60_000, 'stable', () => stable());
      await ledAsWanted(running, PARTITIONS);
      const before = await dataPath();
      const busy = startLoad();
      ended({ stop: async () => store.resume() });
      await pause(1_000);
      await away(store);
      await pause(scale.etcdAwaySeconds * 1_000);
      const during = busy.acknowledged;
      expect(await dataPath()).toEqual(before);
      await eventually(20_000, 'writes go on everywhere', () =>
        busy.acknowledged.every((count, at) => count > during[at]!),
      );
      await back(store);
      const tookMs = await eventually(60_000, 'stable again', () => stable());
      process.stdout.write(`stable ${tookMs.toFixed(0)} ms after etcd was back\n`);
      await pause(1_000);
      await busy.untilWritten(WRITES_MIN);
      await busy.stop();
      expectUndisturbed(await busy.verify(running.gatewayPort(0)));
      expect(await dataPath()).toEqual(before);
    },
    300_000 + scale.etcdAwaySeconds * 1_000,
  );

  test('a datanode whose lease etcd revokes registers again, and nothing moves', async () => {
    await eventually(60_000, 'stable', () => stable());
    await ledAsWanted(running, PARTITIONS);
    const before = await dataPath();
    const table = await etcdctl(store.url, 'get', '--prefix', '/kvorum/partitions/', '-w', 'json');
    const busy = startLoad();
    const since = logsFromNow();
    await pause(500);
    for (const name of ['datanode1', 'datanode3']) {
      const held = await registrationOf(name);
      await etcdctl(store.url, 'lease', 'revoke', BigInt(held.lease).toString(16));
      await eventually(60_000, `${name} is registered again`, async () => {
        const now = await registrationOf(name).catch(() => undefined);
        return now !== undefined && now.lease !== held.lease && now.value === held.value;
      });
      expect(since(name)).toContain('the lease was lost; registering again');
    }
    await eventually(60_000, 'stable again', () => stable());
    await pause(1_000);
    await busy.untilWritten(WRITES_MIN);
    await busy.stop();
    expectUndisturbed(await busy.verify(running.gatewayPort(2)));
    expect(await dataPath()).toEqual(before);
    const after = await etcdctl(store.url, 'get', '--prefix', '/kvorum/partitions/', '-w', 'json');
    expect(JSON.parse(after).kvs).toEqual(JSON.parse(table).kvs);
  }, 300_000);

  test('etcd wiped under the cluster: nothing is taken from it, the data path does not notice', async () => {
    await eventually(60_000, 'stable', () => stable());
    await ledAsWanted(running, PARTITIONS);
    const before = await dataPath();
    const busy = startLoad();
    const since = logsFromNow();
    await pause(500);
    await store.kill();
    store.save('right');
    store.wipe();
    await store.start();
    const told = /is not the one this process has known.*Bring the right store back/;
    await eventually(60_000, 'every process says so', () =>
      everybody.every((name) => told.test(since(name))),
    );
    await pause(2_000);
    await busy.untilWritten(WRITES_MIN);
    await busy.stop();
    expectUndisturbed(await busy.verify(running.gatewayPort(1)));
    expect(await dataPath()).toEqual(before);
    expect(await etcdctl(store.url, 'get', '--prefix', '--keys-only', '/')).toBe('');

    // A datanode that starts now knows only its disk: it serves from there, and joins nothing.
    const pid = running.pidOf('datanode2');
    running.kill('datanode2');
    await eventually(60_000, 'datanode2 is back', () => {
      const now = running.pidOf('datanode2');
      return now !== pid && isAlive(now);
    });
    const client = connect(running.gatewayPort(1));
    await client.set('served', 'from its own table');
    expect(await client.get('served')).toBe('from its own table');
    client.disconnect();
    expect(since('datanode2')).toContain('it holds no /kvorum/cluster');
    expect(await etcdctl(store.url, 'get', '--prefix', '--keys-only', '/')).toBe('');

    await store.kill();
    store.wipe('right');
    await store.start();
    const tookMs = await eventually(60_000, 'stable again', () => stable());
    process.stdout.write(`stable ${tookMs.toFixed(0)} ms after the right etcd was back\n`);
  }, 300_000);

  test('--fresh deletes the cluster of the directory in etcd as well, and only that', async () => {
    const client = connect(running.gatewayPort(0));
    await client.set('old', 'x');
    client.disconnect();
    await running.stop();
    await etcdctl(store.url, 'put', '/other', 'kept');
    const before = await etcdctl(store.url, 'get', '/kvorum/cluster');
    const ports = running.ports;
    const cluster = await startCluster({
      data: running.data,
      partitions: PARTITIONS,
      ports,
      flags: ['--etcd', store.url, '--fresh'],
    });
    ended({ stop: () => cluster.stop() });
    expect(await etcdctl(store.url, 'get', '/kvorum/cluster')).not.toBe(before);
    expect(await etcdctl(store.url, 'get', '/other')).toBe('/other\nkept\n');
    const again = connect(cluster.gatewayPort(0));
    expect(await again.get('old')).toBeNull();
    again.disconnect();
  }, 300_000);
});

describe('kvorum start --etcd refuses', () => {
  test('an etcd that is not there, that holds another cluster, or that lost its own', async () => {
    const absent = await planCluster({ flags: ['--etcd', 'http://127.0.0.1:1'] });
    await expect(absent.start()).rejects.toThrow(
      /a new cluster needs its etcd: metadata store at http:\/\/127.0.0.1:1/,
    );
    await running.stop();
    const directory = mkdtempSync(join(tmpdir(), 'kvorum-test-'));
    ended({ stop: async () => rmSync(directory, { recursive: true, force: true }) });
    const other = await planCluster({
      data: join(directory, 'other'),
      flags: ['--etcd', store.url],
    });
    await expect(other.start()).rejects.toThrow(
      /holds kvorum cluster [0-9a-f]{16}; start with the --data.*del --prefix \/kvorum\//,
    );
    const embedded = await planCluster({ data: running.data, partitions: PARTITIONS });
    await expect(embedded.start()).rejects.toThrow(`start it with --etcd ${store.url}`);
    await store.kill();
    store.wipe();
    await store.start();
    await expect(running.start()).rejects.toThrow(
      /holds no kvorum cluster, and .* belongs to cluster [0-9a-f]{16}; .*restore it/,
    );
  }, 300_000);
});
