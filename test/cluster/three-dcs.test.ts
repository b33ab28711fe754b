import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { NodeStatus } from '../../src/datanode/http/server.ts';
import { askJson } from './ask.ts';
import { eventually, pause } from './cluster.ts';
import { ComposedCluster, hasWholeLoopback } from './compose.ts';
import { endedAfterEach } from './ended.ts';
import { connect, Load } from './load.ts';

const PARTITIONS = 16;
const dcOf = (name: string) => `dc${((Number(name.slice(-1)) - 1) % 3) + 1}`;

const ended = endedAfterEach();

async function startAll(): Promise<ComposedCluster> {
  const running = ended(new ComposedCluster());
  for (const name of running.services.keys()) running.start(name);
  await eventually(180_000, 'three data centres serve', () => isStable(running, 6));
  return running;
}

async function isStable(running: ComposedCluster, datanodes: number): Promise<boolean> {
  const stats = await askJson<{ stable: boolean; datanodes: number; partitions: number }>(
    `${running.url('placedriver1', 18_001)}/cluster/stats`,
  );
  return stats.stable && stats.datanodes === datanodes && stats.partitions === PARTITIONS;
}

function statusOf(running: ComposedCluster, name: string): Promise<NodeStatus> {
  return askJson<NodeStatus>(`${running.url(name, 27_001)}/status`);
}

/** Every replica of every partition has applied what the group has committed. */
async function replicasAreEqual(running: ComposedCluster): Promise<boolean> {
  const names = running.names('datanode');
  const statuses = await Promise.all(names.map((name) => statusOf(running, name)));
  const replicas = statuses.flatMap(({ partitions }) => partitions);
  if (replicas.length !== PARTITIONS * 3) return false;
  const highest = new Map<number, number>();
  for (const { partition, commit } of replicas) {
    highest.set(partition, Math.max(highest.get(partition) ?? 0, commit));
  }
  return replicas.every(
    ({ partition, applied, leader }) => leader !== null && applied === highest.get(partition),
  );
}

/** Who holds what, by partition and node. */
async function table(running: ComposedCluster): Promise<string[]> {
  const statuses = await Promise.all(
    running.names('datanode').map((name) => statusOf(running, name)),
  );
  return statuses
    .flatMap(({ node, partitions }) =>
      partitions.map(({ partition, replica }) => `${partition} ${node} ${replica}`),
    )
    .sort();
}

describe('docker-compose.yml', () => {
  test('gives every service its volume, its config and a bounded stop', () => {
    const { services } = new ComposedCluster();
    expect([...services.keys()].sort()).toEqual(
      [
        ...[1, 2, 3].flatMap((dc) => [`etcd${dc}`, `placedriver${dc}`]),
        ...[1, 2, 3, 4, 5, 6].map((node) => `datanode${node}`),
      ].sort(),
    );
    for (const [name, { command, volumes }] of services) {
      expect(volumes).toEqual([expect.stringMatching(`^${name}:/var/lib/`)]);
      if (name.startsWith('etcd')) continue;
      const config = readFileSync(command.at(-1)!, 'utf8');
      expect(config).toContain(`name: ${name}\n`);
      if (name.startsWith('datanode')) expect(config).toContain(`dc_info: ${dcOf(name)} `);
    }
  });
});

describe('Dockerfile', () => {
  const dockerfile = readFileSync('Dockerfile', 'utf8');

  test('the stage that builds has every file that the compiler asks for', () => {
    const stage = mkdtempSync(join(tmpdir(), 'kvorum-image-'));
    try {
      const build = dockerfile.slice(
        dockerfile.indexOf('AS build'),
        dockerfile.lastIndexOf('FROM '),
      );
      for (const [, from] of build.matchAll(/^COPY (.+) \S+$/gm)) {
        for (const name of from!.split(' ')) cpSync(name, join(stage, name), { recursive: true });
      }
      symlinkSync(resolve('node_modules'), join(stage, 'node_modules'));
      const { build: script } = (
        JSON.parse(readFileSync(join(stage, 'package.json'), 'utf8')) as {
          scripts: { build: string };
        }
      ).scripts;
      const [compile = '', bundle = ''] = script.split(' && ');
      const [program, ...args] = `node_modules/.bin/${compile} --showConfig`.split(' ');
      const { status, stdout } = spawnSync(program!, args, { cwd: stage, encoding: 'utf8' });
      expect(status, stdout).toBe(0);
      const [node = '', file = ''] = bundle.split(' ');
      expect([node, existsSync(join(stage, file))]).toEqual(['node', true]);
    } finally {
      rmSync(stage, { recursive: true });
    }
  });

  test('the image has what the compose file names, and runs as somebody who may write there', () => {
    const image = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
    const { services } = new ComposedCluster();
    for (const [name, { command, build, volumes }] of services) {
      if (build !== '.') continue;
      const config = command[command.indexOf('--config') + 1]!;
      expect(image, name).toMatch(new RegExp(`^COPY ${config.split('/')[0]} `, 'm'));
      const [, place] = volumes[0]!.split(':');
      expect(image, name).toContain(`chown node:node ${place}`);
    }
    expect(image).toMatch(/^USER node$/m);
  });
});

describe.runIf(hasWholeLoopback())('three data centres', () => {
  test('one is lost under load and returns: nothing is lost, nothing moves, replicas catch up', async () => {
    const running = await startAll();
    for (const { node, partitions } of await Promise.all(
      running.names('datanode').map((name) => statusOf(running, name)),
    )) {
      for (const { members } of partitions) {
        expect(new Set(members.map((member) => dcOf(member.node))).size, node).toBe(3);
      }
    }
    for (const [name, { build }] of running.services) {
      expect(await running.health(name), name).toBe(build === '.' ? 0 : undefined);
    }
    const before = await table(running);
    const lost = ['etcd2', 'placedriver2', 'datanode2', 'datanode5'];
    const left = running.names('datanode').filter((name) => !lost.includes(name));
    const load = ended(
      new Load({
        ports: left.map((name) => running.door(name, 6379)),
        clusterPorts: left.map((name) => running.door(name, 7001)),
        partitions: PARTITIONS,
        writers: 6,
        readers: 3,
        keysPerWriter: 32,
      }),
    );
    await pause(2_000);
    await running.kill(lost);
    expect(await running.health('datanode2')).toBe(1);
    const counts = load.acknowledged;
    const resumedMs = await eventually(60_000, 'every partition takes writes again', () =>
      load.acknowledged.every((count, partition) => count > counts[partition]! + 2),
    );
    process.stdout.write(`a data centre lost: writes everywhere after ${resumedMs | 0} ms\n`);
    await pause(3_000);
    for (const name of lost) running.start(name);
    await eventually(120_000, 'the data centre is back', () => isStable(running, 6));
    await load.untilWritten(100);
    const report = await load.stop();
    await eventually(90_000, 'its replicas have caught up', () => replicasAreEqual(running));
    await load.verify(running.door('datanode2', 6379));
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.violations).toEqual([]);
    expect(report.writes).toBeGreaterThan(100);
    expect(await table(running)).toEqual(before);
    const client = connect(running.door('datanode5', 6379));
    await client.set('through:the:returned', 'yes');
    expect(await client.get('through:the:returned')).toBe('yes');
    client.disconnect();
  }, 500_000);
});
