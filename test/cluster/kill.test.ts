import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect, Load } from './load.ts';

const WRITES_MIN = 500;
const ended = endedAfterEach();
let loads = 0;

/** Waits until each partition acknowledges writes again after `fault`; how long that took. */
async function resumes(running: Load, boundMs: number, fault: () => void): Promise<number> {
  fault();
  // What is under way at that moment does not count.
  await pause(20);
  return 20 + (await acknowledgesEverywhere(running, boundMs));
}

function acknowledgesEverywhere(running: Load, boundMs: number): Promise<number> {
  const before = running.acknowledged;
  return eventually(boundMs, 'writes resume in every partition', () =>
    running.acknowledged.every((count, partition) => count > before[partition]! + 2),
  );
}

function startLoad(cluster: TestCluster, writers: number, readers: number): Load {
  const nodes = [0, 1, 2];
  return new Load({
    ports: nodes.map((node) => cluster.gatewayPort(node)),
    clusterPorts: nodes.map((node) => cluster.clusterPort(node)),
    partitions: 4,
    writers,
    readers,
    keysPerWriter: 16,
    prefix: `load ${loads++}`,
  });
}

async function leaderOf(running: TestCluster, partition: number): Promise<string> {
  const { partitions } = await running.status();
  return partitions.find((line) => line.partition === partition)?.leader ?? 'datanode1';
}

async function caughtUp(running: TestCluster): Promise<boolean> {
  const { partitions } = await running.status();
  return (
    partitions.length === 4 &&
    partitions.every(
      (line) =>
        line.leader !== null && line.replicas.every((replica) => replica.state === 'running'),
    )
  );
}

describe('a datanode killed under load', () => {
  let running: TestCluster;
  beforeAll(async () => {
    running = await startCluster({ partitions: 4 });
  }, 300_000);
  afterAll(() => running?.destroy(), 300_000);

  test(
    'loses no acknowledged write, serves no stale read, and comes back',
    async () => {
      const load = ended(startLoad(running, 8, 4));
      await pause(1_000);
      for (let round = 0; round < scale.kills; round++) {
        const victim = await leaderOf(running, round % 4);
        const tookMs = await resumes(load, 60_000, () => running.kill(victim));
        process.stdout.write(`killed ${victim}: writes resumed after ${tookMs.toFixed(0)} ms\n`);
        await eventually(60_000, `${victim} is back`, () => caughtUp(running));
        await pause(300);
      }
      await load.untilWritten(WRITES_MIN);
      await load.stop();
      const report = await load.verify(running.gatewayPort(0));
      process.stdout.write(`${JSON.stringify(report)}\n`);
      expect(report.violations).toEqual([]);
      expect(report.writes).toBeGreaterThan(WRITES_MIN);
    },
    240_000 + scale.kills * 130_000,
  );

  test('all three killed at once: everything acknowledged is there, writes resume', async () => {
    const load = ended(startLoad(running, 8, 4));
    await pause(1_500);
    const tookMs = await resumes(load, 90_000, () => {
      for (const name of ['datanode1', 'datanode2', 'datanode3']) running.kill(name);
    });
    process.stdout.write(`killed all: writes resumed after ${tookMs.toFixed(0)} ms\n`);
    await pause(500);
    await load.stop();
    const report = await load.verify(running.gatewayPort(1));
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.violations).toEqual([]);
  }, 300_000);
});

describe('without restarts', () => {
  test('the placedriver dead, datanodes started by hand serve what was acknowledged', async () => {
    const running = ended(await startCluster({ partitions: 4, flags: ['--no-restart'] }));
    const load = ended(startLoad(running, 8, 4));
    await pause(1_000);
    await running.killAndWait('placedriver1');
    await running.killAndWait('datanode1', 'datanode2', 'datanode3');
    for (const number of [1, 2, 3]) running.startByHand(`datanode${number}`);
    try {
      const tookMs = await acknowledgesEverywhere(load, 90_000);
      process.stdout.write(`started by hand: writes resumed after ${tookMs.toFixed(0)} ms\n`);
      await load.stop();
      const report = await load.verify(running.gatewayPort(2));
      expect(report.violations).toEqual([]);
    } finally {
      await load.stop();
    }
  }, 300_000);

  test('a datanode away for longer than the log is kept comes back by a snapshot', async () => {
    const running = ended(await startCluster({ partitions: 1, flags: ['--no-restart'] }));
    await running.killAndWait('datanode3');
    const client = connect(running.gatewayPort(0));
    const value = 'v'.repeat(4_000);
    for (let from = 0; from < 12_000; from += 200) {
      const batch = client.pipeline();
      for (let at = from; at < from + 200; at++) batch.set(`key:${at}`, `${at} ${value}`);
      for (const [failure] of (await batch.exec()) ?? []) expect(failure).toBeNull();
    }
    running.startByHand('datanode3');
    try {
      const tookMs = await eventually(90_000, 'datanode3 has caught up', async () => {
        const [partition] = (await running.status()).partitions;
        const own = partition?.replicas.find(({ node }) => node === 'datanode3');
        return partition?.lag === 0 && own?.state === 'running' && own.match === partition.commit;
      });
      process.stdout.write(`caught up by a snapshot of 48 MB after ${tookMs.toFixed(0)} ms\n`);
      const log = readFileSync(join(running.data, 'log', 'datanode3.log'), 'utf8');
      expect(log).toContain('snapshot installed');
      const other = connect(running.gatewayPort(2));
      expect(await other.dbsize()).toBe(12_000);
      expect(await other.get('key:11999')).toBe(`11999 ${value}`);
      other.disconnect();
    } finally {
      client.disconnect();
    }
  }, 300_000);
});
