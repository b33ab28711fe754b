import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { ClusterAnswer, NodeAnswer } from '../../src/cli/admin/shapes.ts';
import { isAlive } from '../../src/cli/run-file.ts';
import { startEtcd } from '../meta/etcd-process.ts';
import { freePorts } from '../ports.ts';
import { askPort } from './ask.ts';
import { eventually, kvorum, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { Load } from './load.ts';

const run = promisify(execFile);
const PARTITIONS = 8;
/** One replica at a time, and time between two: a drain takes some seconds. */
const change = {
  placement: { 'moves-at-once': 1, 'plan-delay-ms': 400 },
  timing: { 'lease-ttl-ms': 2_000 },
};

let load: Load;

const ended = endedAfterEach();

/** Starts `name` with the first placedriver's config file, changed; resolves to its HTTP port. */
async function startPlacedriver(
  running: TestCluster,
  name: string,
  changed: object,
): Promise<number> {
  const text = readFileSync(join(running.data, 'placedriver1.yaml'), 'utf8');
  const config = parse(text.replaceAll('placedriver1', name)) as { ports: { http: number } };
  if (name !== 'placedriver1') config.ports.http = (await freePorts(1)).http;
  const file = `${name}-slow.yaml`;
  writeFileSync(join(running.data, file), stringify({ ...config, ...changed }));
  running.startByHand(name, file);
  return config.ports.http;
}

/** A placedriver that is stopped gives its lease back: nobody waits for that to end. */
async function resign(running: TestCluster, name: string): Promise<void> {
  const pid = running.pidOf(name);
  process.kill(pid, 'SIGTERM');
  await eventually(60_000, `${name} ends`, () => !isAlive(pid));
}

const master = async (port: number) => (await askPort<ClusterAnswer>(port, '/v1/cluster')).master;

async function left(port: number, node: string): Promise<number> {
  return (await askPort<NodeAnswer>(port, `/v1/nodes/${node}`)).replicas;
}

/** Four datanodes, the fourth of which is to be emptied. */
async function startFour(...flags: string[]): Promise<TestCluster> {
  const running = ended(
    await startCluster({
      nodes: 4,
      partitions: PARTITIONS,
      flags: ['--no-restart', '--replicas', '3', ...flags],
    }),
  );
  await eventually(60_000, 'stable', async () => {
    const stats = await askPort<{ stable: boolean }>(running.ports.http, '/cluster/stats');
    return stats.stable;
  });
  load = ended(
    new Load({
      ports: [0, 1, 2].map((node) => running.gatewayPort(node)),
      clusterPorts: [0, 1, 2].map((node) => running.clusterPort(node)),
      partitions: PARTITIONS,
      writers: 4,
      readers: 2,
      keysPerWriter: 16,
    }),
  );
  return running;
}

/** Begins to empty the fourth datanode; resolves when some of it has moved, and some has not. */
async function drainHalf(port: number): Promise<void> {
  const url = ['--url', `http://127.0.0.1:${port}`];
  const all = await left(port, 'datanode4');
  // looked at from the first moment on: a command that is slow to end could end behind the drain
  const begun = run(process.execPath, [kvorum, 'drain', 'datanode4', '--no-wait', ...url]);
  const half = eventually(90_000, 'the drain is in the middle', async () => {
    const now = await left(port, 'datanode4');
    return now < all && now > 0;
  });
  await Promise.all([begun, half]);
}

async function expectDrained(port: number): Promise<void> {
  await eventually(120_000, 'the drain is finished', async () => {
    const { partitions } = await askPort<ClusterAnswer>(port, '/v1/cluster');
    return (await left(port, 'datanode4')) === 0 && partitions.settled === PARTITIONS;
  });
}

async function expectUnharmed(running: TestCluster): Promise<void> {
  await load.stop();
  const report = await load.verify(running.gatewayPort(0));
  process.stdout.write(`${JSON.stringify(report)}\n`);
  expect(report.violations).toEqual([]);
  expect([report.unknown, report.refused]).toEqual([0, 0]);
}

describe('a master that ends in the middle of a drain', () => {
  test.each<[string, NodeJS.Signals]>([
    ['killed', 'SIGKILL'],
    ['frozen past its lease, and thawed', 'SIGSTOP'],
  ])(
    '%s: the next one finishes it, on real etcd',
    async (_, signal) => {
      const etcd = ended(await startEtcd());
      const running = await startFour('--etcd', etcd.url);
      await resign(running, 'placedriver1');
      const first = await startPlacedriver(running, 'placedriver1', change);
      await eventually(
        90_000,
        'it is master',
        async () => (await master(first)) === 'placedriver1',
      );
      const second = await startPlacedriver(running, 'placedriver2', change);
      await eventually(60_000, 'a second one', async () => (await master(second)) !== null);
      await drainHalf(second); // passed on to the master
      process.kill(running.pidOf('placedriver1'), signal);
      await eventually(60_000, 'another is master', async () => {
        return (await master(second)) === 'placedriver2';
      });
      await expectDrained(second);
      if (signal === 'SIGSTOP') {
        process.kill(running.pidOf('placedriver1'), 'SIGCONT');
        await pause(1_000);
        await eventually(60_000, 'the first one knows', async () => {
          return (await master(first)) === 'placedriver2';
        });
        expect(await left(second, 'datanode4')).toBe(0);
      }
      await expectUnharmed(running);
    },
    500_000,
  );

  test('the one that holds the embedded store goes on when it is started again', async () => {
    const running = await startFour();
    await resign(running, 'placedriver1');
    const port = await startPlacedriver(running, 'placedriver1', change);
    await eventually(90_000, 'it is master', async () => (await master(port)) === 'placedriver1');
    await drainHalf(port);
    running.kill('placedriver1');
    await pause(2_000);
    await startPlacedriver(running, 'placedriver1', change);
    await eventually(90_000, 'it answers', async () => (await master(port)) !== null);
    await expectDrained(port);
    await expectUnharmed(running);
  }, 500_000);
});

describe('a master of a cluster in which nothing else happens', () => {
  test('makes the replicas of a lost node elsewhere once its wait is over', async () => {
    const waitMs = 8_000;
    const running = await startFour();
    await load.stop();
    await resign(running, 'placedriver1');
    const placement = { 'migrate-wait-ms': waitMs };
    const port = await startPlacedriver(running, 'placedriver1', { placement });
    await eventually(90_000, 'it is master', async () => (await master(port)) === 'placedriver1');
    const held = await left(port, 'datanode4');
    expect(held).toBeGreaterThan(0);
    const killedMs = performance.now();
    running.kill('datanode4');
    for (;;) {
      const now = await left(port, 'datanode4');
      // an answer that came later says nothing
      if (performance.now() - killedMs >= waitMs) break;
      expect(now).toBe(held);
      await pause(200);
    }
    const tookMs = await eventually(60_000, 'nothing is wanted of it', async () => {
      return (await left(port, 'datanode4')) === 0;
    });
    process.stdout.write(`replaced ${(tookMs + waitMs).toFixed(0)} ms after it was killed\n`);
    await eventually(90_000, 'all is well', async () => {
      return (await askPort<{ stable: boolean }>(port, '/cluster/stats')).stable;
    });
    await expectUnharmed(running);
  }, 500_000);
});
