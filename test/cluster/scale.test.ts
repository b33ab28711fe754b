import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { NodeAnswer, PartitionAnswer } from '../../src/cli/admin/shapes.ts';
import { freePorts } from '../ports.ts';
import { askPort } from './ask.ts';
import { eventually, kvorum, pause, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { Load } from './load.ts';

const run = promisify(execFile);
const PARTITIONS = 8;
const REPLICAS = 3;

const ended = endedAfterEach();

/** Config files of more datanodes, made from that of `datanode1`. */
async function addDatanodes(running: TestCluster, names: readonly string[]): Promise<void> {
  const text = readFileSync(join(running.data, 'datanode1.yaml'), 'utf8');
  const { gateway, cluster: first } = await freePorts(names.length);
  for (const [at, name] of names.entries()) {
    const own = parse(text.replaceAll('datanode1', name)) as { ports: Record<string, number> };
    own.ports = {
      gateway: gateway + at,
      cluster: first + at,
      follower: first + at + 1_000,
      transport: first + at + 10_000,
      http: first + at + 20_000,
    };
    writeFileSync(join(running.data, `${name}.yaml`), stringify(own));
    running.startByHand(name);
  }
}

async function partitions(running: TestCluster): Promise<PartitionAnswer[]> {
  const path = '/v1/namespaces/default/partitions';
  return (await askPort<{ partitions: PartitionAnswer[] }>(running.ports.http, path)).partitions;
}

/** Everything settled, and replicas and leaders dealt out over `names` within 1. */
async function isEven(running: TestCluster, names: readonly string[]): Promise<boolean> {
  if (!(await partitions(running)).every(({ settled }) => settled)) return false;
  const { nodes } = await askPort<{ nodes: NodeAnswer[] }>(running.ports.http, '/v1/nodes');
  const holding = nodes.filter(({ replicas }) => replicas > 0);
  if (
    holding
      .map(({ name }) => name)
      .sort()
      .join() !== [...names].sort().join()
  )
    return false;
  const within1 = (counts: readonly number[]) => Math.max(...counts) - Math.min(...counts) <= 1;
  return within1(holding.map((n) => n.replicas)) && within1(holding.map((n) => n.leaders));
}

/** Looks until it is stopped; says when a group ever counted on fewer than all its replicas. */
function watchMembers(running: TestCluster) {
  const short: string[] = [];
  let looks = 0;
  let watching = true;
  const task = (async () => {
    while (watching) {
      for (const { partition, actual } of await partitions(running).catch(() => [])) {
        looks++;
        const voters = actual?.voters.length ?? REPLICAS;
        if (voters < REPLICAS) short.push(`partition ${partition} has ${voters} voters`);
      }
      await pause(100);
    }
  })();
  return async () => {
    watching = false;
    await task;
    expect(looks).toBeGreaterThan(10);
    return short;
  };
}

describe('a cluster that grows and shrinks under load', () => {
  test('3, 6, then 4 datanodes: nothing lost, nothing stale, even at the end', async () => {
    const running = ended(await startCluster({ partitions: PARTITIONS }));
    const load = ended(
      new Load({
        ports: [0, 1, 2].map((node) => running.gatewayPort(node)),
        clusterPorts: [0, 1, 2].map((node) => running.clusterPort(node)),
        partitions: PARTITIONS,
        writers: 6,
        readers: 3,
        keysPerWriter: 32,
      }),
    );
    await pause(1_000);
    const stopWatching = watchMembers(running);
    await addDatanodes(running, ['datanode4', 'datanode5', 'datanode6']);
    const six = [1, 2, 3, 4, 5, 6].map((number) => `datanode${number}`);
    const grownMs = await eventually(120_000, 'even over six', () => isEven(running, six));
    process.stdout.write(`6 datanodes: even after ${(grownMs / 1_000).toFixed(1)} s\n`);

    const url = ['--url', `http://127.0.0.1:${running.ports.http}`];
    for (const name of ['datanode5', 'datanode2']) {
      const { stdout } = await run(process.execPath, [kvorum, 'drain', name, ...url], {
        timeout: 180_000,
      });
      expect(stdout).toContain(`${name} holds nothing any more`);
    }
    const four = six.filter((name) => name !== 'datanode5' && name !== 'datanode2');
    const shrunkMs = await eventually(120_000, 'even over four', () => isEven(running, four));
    process.stdout.write(`4 datanodes: even ${(shrunkMs / 1_000).toFixed(1)} s after the drain\n`);
    expect(await stopWatching()).toEqual([]);
    await load.untilWritten(300);
    await load.stop();
    const report = await load.verify(running.gatewayPort(0));
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.violations).toEqual([]);
    expect(report.writes).toBeGreaterThan(300);
    // A drained node still answers: its doors lead to the others.
    expect((await load.verify(running.gatewayPort(1))).violations).toEqual([]);
  }, 600_000);
});
