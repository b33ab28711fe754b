/**
 * kill -9 at any moment: under load that keeps every file moving, of any process, of two at once,
 * and in one of five rounds again while the killed one is still recovering; else when some writes
 * have been acknowledged since, so that there is something to lose.
 */
import type { ChildProcess } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import { seededRandom } from '../../src/common/random.ts';
import { eventually, pause, startCluster, type TestCluster } from '../cluster/cluster.ts';
import { Load } from '../cluster/load.ts';
import { scale } from '../scale.ts';
import { BulkLoad } from './bulk-load.ts';

const seed = process.env['KVORUM_KILL_SEED'] ?? '1';
const NODES = ['datanode1', 'datanode2', 'datanode3'];
const PARTITIONS = 4;
const AWAY_MS = 1_500;
/** Of writes that are waited for before a kill, at most. */
const WRITES_BETWEEN = 60;

let cluster: TestCluster | undefined;
let load: Load | undefined;
let bulk: BulkLoad | undefined;
const children = new Map<string, ChildProcess>();

afterEach(async () => {
  await Promise.all([load?.stop(), bulk?.stop()]);
  await cluster?.destroy();
}, 300_000);

function startAgain(running: TestCluster, name: string): void {
  children.set(name, running.startByHand(name));
}

async function kill(running: TestCluster, name: string): Promise<void> {
  const child = children.get(name);
  if (child === undefined) running.kill(name);
  else if (child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }
}

test(
  'loses nothing that was acknowledged',
  async () => {
    cluster = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
    const running = cluster;
    const gateways = NODES.map((_, at) => running.gatewayPort(at));
    load = new Load({
      ports: gateways,
      clusterPorts: NODES.map((_, at) => running.clusterPort(at)),
      partitions: PARTITIONS,
      writers: 6,
      readers: 2,
      keysPerWriter: 16,
    });
    bulk = new BulkLoad(gateways, 3);
    const random = seededRandom(`kills ${seed}`);
    const kills = new Map<string, number>();
    const away = new Set<string>();
    for (let round = 0; round < scale.randomKills; round++) {
      const wanted = random.below(5) === 0 ? 0 : random.below(WRITES_BETWEEN);
      if (wanted > 0) await moreWrites(running, load, wanted);
      await pause(random.below(2_000));
      const victims = [NODES[random.below(NODES.length)]!];
      if (random.below(4) === 0) victims.push(NODES[random.below(NODES.length)]!);
      if (random.below(6) === 0) victims.push('placedriver1');
      for (const name of new Set(victims)) {
        if (away.has(name)) continue;
        await kill(running, name);
        kills.set(name, (kills.get(name) ?? 0) + 1);
        away.add(name);
        // now and then it is gone for a while, and the others go on without it
        setTimeout(
          () => {
            away.delete(name);
            startAgain(running, name);
          },
          random.below(5) === 0 ? AWAY_MS : 0,
        );
      }
    }
    await pause(AWAY_MS + 100);
    const before = load.acknowledged;
    await eventually(90_000, 'writes go on everywhere', () =>
      load!.acknowledged.every((count, at) => count > before[at]! + 2),
    );
    await load.untilWritten(20);
    await eventually(60_000, 'large values are written', () => bulk!.bytes > 1e5);
    await Promise.all([load.stop(), bulk.stop()]);
    expect(await everyReplicaHolds(running)).toEqual([]);
    const report = await load.verify(gateways[0]!);
    const wrong = await bulk.verify(gateways[1]!);
    const { violations, ...counts } = report;
    const killed = JSON.stringify(Object.fromEntries(kills));
    process.stdout.write(`seed ${seed} killed ${killed}: ${JSON.stringify(counts)}\n`);
    process.stdout.write(`large values: ${(bulk.bytes / 1e6).toFixed(0)} MB acknowledged\n`);
    expect([...violations, ...wrong]).toEqual([]);
    expect(report.writes).toBeGreaterThan(10 * scale.randomKills);
    expect(bulk.bytes).toBeGreaterThan(1e5);
  },
  300_000 + scale.randomKills * 10_000,
);

async function moreWrites(running: TestCluster, load: Load, count: number): Promise<void> {
  const written = () => load.acknowledged.reduce((sum, writes) => sum + writes, 0);
  const before = written();
  await eventually(60_000, 'writes go on', () => written() - before >= count).catch(
    async (failure: Error) => {
      throw new Error(`${failure.message}\n${await running.account(...NODES, 'placedriver1')}`);
    },
  );
}

/** Replicas that did not come back to their group's commit index. */
async function everyReplicaHolds(running: TestCluster): Promise<string[]> {
  let behind: string[] = ['unknown'];
  await eventually(120_000, 'every replica has caught up', async () => {
    const { partitions } = await running.status();
    behind = partitions.flatMap(({ partition, replicas, commit }) =>
      replicas
        .filter(({ state, match }) => state !== 'running' || match < commit)
        .map(({ node }) => `${partition} on ${node}`),
    );
    return partitions.length === PARTITIONS && behind.length === 0;
  });
  return behind;
}
