/** A new datanode whose engines cannot be written: moves to it are given up, nothing is put at risk. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { NodeAnswer, PartitionAnswer } from '../../src/cli/admin/shapes.ts';
import { isAlive } from '../../src/cli/run-file.ts';
import { freePorts } from '../ports.ts';
import { scale } from '../scale.ts';
import { eventually, pause, startCluster, type TestCluster } from './cluster.ts';
import { Load } from './load.ts';

const PARTITIONS = 4;

let cluster: TestCluster | undefined;
let load: Load | undefined;

afterEach(async () => {
  await load?.stop();
  await cluster?.destroy();
}, 300_000);

interface Told {
  readonly type: string;
  readonly node?: string;
  readonly partition?: number;
}

async function ask<T>(running: TestCluster, path: string): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${running.ports.http}${path}`, {
    signal: AbortSignal.timeout(5_000),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

async function partitions(running: TestCluster): Promise<PartitionAnswer[]> {
  const path = '/v1/namespaces/default/partitions';
  return (await ask<{ partitions: PartitionAnswer[] }>(running, path)).partitions;
}

const events = async (running: TestCluster) =>
  (await ask<{ events: Told[] }>(running, '/v1/events')).events;

const held = async (running: TestCluster, node: string) =>
  (await ask<NodeAnswer>(running, `/v1/nodes/${node}`)).replicas;

/** With a bound of its own for moves that do not get on. */
async function restartPlacedriver(running: TestCluster): Promise<void> {
  const pid = running.pidOf('placedriver1');
  process.kill(pid, 'SIGTERM');
  await eventually(20_000, 'the placedriver ends', () => !isAlive(pid));
  const config = parse(readFileSync(join(running.data, 'placedriver1.yaml'), 'utf8')) as object;
  const text = stringify({ ...config, placement: { 'move-stall-ms': 4_000 } });
  writeFileSync(join(running.data, 'quick.yaml'), text);
  running.startByHand('placedriver1', 'quick.yaml');
  await eventually(40_000, 'it answers', async () => (await partitions(running)).length > 0);
}

/** Where engines would be made there is a way that leads nowhere. */
async function addBrokenDatanode(running: TestCluster): Promise<string> {
  const text = readFileSync(join(running.data, 'datanode1.yaml'), 'utf8');
  const config = parse(text.replaceAll('datanode1', 'datanode4')) as {
    'data-dir': string;
    ports: Record<string, number>;
  };
  const { gateway, cluster: first } = await freePorts(1);
  config.ports = {
    ...{ gateway, cluster: first, follower: first + 1_000 },
    ...{ transport: first + 10_000, http: first + 20_000 },
  };
  writeFileSync(join(running.data, 'datanode4.yaml'), stringify(config));
  mkdirSync(config['data-dir'], { recursive: true });
  const engines = join(config['data-dir'], 'engines');
  symlinkSync('/proc/nowhere/engines', engines);
  running.startByHand('datanode4');
  return engines;
}

test.runIf(scale.unfillableNodes > 0)(
  'a node that cannot be filled holds nothing up, and is filled once it is mended',
  async () => {
    cluster = await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] });
    const running = cluster;
    await restartPlacedriver(running);
    load = new Load({
      ports: [0, 1, 2].map((node) => running.gatewayPort(node)),
      clusterPorts: [],
      partitions: PARTITIONS,
      ...{ writers: 4, readers: 2, keysPerWriter: 16 },
    });
    const engines = await addBrokenDatanode(running);
    const began = await eventually(60_000, 'a move to it is given up', async () => {
      return (await events(running)).some((event) => event.type === 'move-given-up');
    });
    process.stdout.write(`given up after ${Math.round(began)} ms\n`);
    await eventually(30_000, 'the groups are as they were', async () => {
      const all = await partitions(running);
      return all.every(({ settled, actual }) => settled && actual?.voters.length === 3);
    });
    await pause(3_000);
    expect(await held(running, 'datanode4')).toBe(0);
    for (const { type, node } of await events(running)) {
      if (type === 'move-given-up') expect(node).toBe('datanode4');
    }
    const pid = running.pidOf('datanode4');
    process.kill(pid, 'SIGTERM');
    await eventually(20_000, 'datanode4 ends', () => !isAlive(pid));
    rmSync(engines);
    running.startByHand('datanode4');
    await eventually(60_000, 'it is filled', async () => {
      const settled = (await partitions(running)).every((partition) => partition.settled);
      return settled && (await held(running, 'datanode4')) === 3;
    });
    await load.stop();
    const report = await load.verify(running.gatewayPort(0));
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report).toMatchObject({ violations: [], refused: 0, unknown: 0 });
  },
  240_000,
);
