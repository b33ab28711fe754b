import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { NodeAnswer, PartitionAnswer } from '../../src/cli/admin/shapes.ts';
import { askPort } from './ask.ts';
import { eventually, kvorum, startCluster, type TestCluster } from './cluster.ts';
import { endedAfterEach } from './ended.ts';
import { connect } from './load.ts';

const run = promisify(execFile);
const PARTITIONS = 2;
const KEYS = 200;

const ended = endedAfterEach();

async function verb(running: TestCluster, ...args: string[]): Promise<string> {
  const command = [kvorum, ...args, '--data', running.data];
  return (await run(process.execPath, command, { timeout: 60_000 })).stdout;
}

/** Directories of replicas on a node: `<replica id>-<generation>`. */
function replicasOn(running: TestCluster, name: string): number[] {
  const names = readdirSync(join(running.data, name, 'engines'));
  return [...new Set(names.map((one) => Number.parseInt(one, 10)))].sort((a, b) => a - b);
}

async function partitions(running: TestCluster): Promise<readonly PartitionAnswer[]> {
  const path = '/v1/namespaces/default/partitions';
  return (await askPort<{ partitions: PartitionAnswer[] }>(running.ports.http, path)).partitions;
}

test('two of three nodes lost: what the third holds goes on, and the two come back as strangers', async () => {
  const running = ended(await startCluster({ partitions: PARTITIONS, flags: ['--no-restart'] }));
  const writer = connect(running.gatewayPort(0));
  for (let key = 0; key < KEYS; key++) await writer.set(`key:${key}`, `value ${key}`);
  const before = await partitions(running);
  await eventually(60_000, 'every replica holds the same', async () => {
    const lines = (await running.status()).partitions;
    return lines.every(({ commit, replicas }) => replicas.every(({ match }) => match === commit));
  });
  const lost = ['datanode2', 'datanode3'];
  for (const name of lost) running.kill(name);
  await eventually(90_000, 'their leases have ended', async () => {
    const { nodes } = await askPort<{ nodes: NodeAnswer[] }>(running.ports.http, '/v1/nodes');
    return nodes.filter(({ alive }) => alive).length === 1;
  });
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const what = `default/${partition}`;
    const confirm = ['--survivor', 'datanode1', '--confirm', `lose-data-of ${what}`];
    expect(await verb(running, 'rebuild', what, ...confirm)).toContain('is rebuilt from');
  }
  const reader = connect(running.gatewayPort(0));
  await eventually(90_000, 'the survivor serves alone', async () => {
    return (await reader.get('key:0')) === 'value 0';
  });
  const found = await reader.mget(Array.from({ length: KEYS }, (_, key) => `key:${key}`));
  expect(found).toEqual(Array.from({ length: KEYS }, (_, key) => `value ${key}`));
  for (let key = 0; key < KEYS; key++) await reader.set(`key:${key}`, 'after');

  for (const name of lost) running.startByHand(name);
  await eventually(90_000, 'filled up again on all three', async () => {
    const now = await partitions(running);
    return now.every(({ wanted, settled }) => settled && wanted.length === 3);
  });
  const old = before.flatMap(({ wanted }) =>
    wanted.filter(({ node }) => lost.includes(node)).map(({ replica }) => replica),
  );
  await eventually(60_000, 'the old replicas are destroyed', () =>
    lost.every((name) => !replicasOn(running, name).some((replica) => old.includes(replica))),
  );
  for (const node of [0, 1, 2]) {
    const client = connect(running.gatewayPort(node));
    const values = await client.mget(Array.from({ length: KEYS }, (_, key) => `key:${key}`));
    expect(new Set(values)).toEqual(new Set(['after']));
    client.disconnect();
  }
  writer.disconnect();
  reader.disconnect();
}, 500_000);
