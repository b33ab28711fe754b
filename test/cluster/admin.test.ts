import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { NamespaceAnswer, NodeAnswer, PartitionAnswer } from '../../src/cli/admin/shapes.ts';
import { eventually, kvorum, startCluster, type TestCluster } from './cluster.ts';
import { connect } from './load.ts';

const run = promisify(execFile);

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startCluster({ nodes: 4, partitions: 4, flags: ['--replicas', '3'] });
  await eventually(60_000, 'stable', async () => (await verb('nodes')).includes('4 alive'));
}, 300_000);

afterAll(async () => {
  await cluster?.destroy();
}, 300_000);

/** What a verb prints; the placedriver is found by the data directory. */
async function verb(...args: string[]): Promise<string> {
  const command = [kvorum, ...args, '--data', cluster.data];
  return (await run(process.execPath, command, { timeout: 60_000 })).stdout;
}

async function json<T>(...args: string[]): Promise<T> {
  return JSON.parse(await verb(...args, '--json')) as T;
}

/** What a verb that fails says. */
async function failure(...args: string[]): Promise<string> {
  return verb(...args).then(
    (stdout) => `no failure: ${stdout}`,
    ({ stderr }: { stderr: string }) => stderr.trim(),
  );
}

async function partition(number: number): Promise<PartitionAnswer> {
  const { partitions } = await json<{ partitions: PartitionAnswer[] }>('partitions');
  return partitions[number]!;
}

describe('the command line', () => {
  // each verb is a process that starts
  test('lists nodes and partitions as tables and as JSON', async () => {
    const { nodes } = await json<{ nodes: NodeAnswer[] }>('nodes');
    expect(nodes.map(({ name, replicas }) => [name, replicas])).toEqual(
      [1, 2, 3, 4].map((number) => [`datanode${number}`, 3]),
    );
    expect(await verb('nodes')).toMatch(/^node +state +dc +gateway +replicas +leaders/);
    expect(await verb('partitions')).toMatch(/^default\/3 +datanode\d +\d+ +datanode\d#\d+ /m);
    expect(await failure('partitions', 'nowhere')).toBe('kvorum: no namespace nowhere');
  }, 300_000);

  test('makes, changes and deletes a namespace', async () => {
    const made = await verb('namespaces', 'create', 'db1', '--partitions', '2', '--replicas', '1');
    expect(made).toContain('SELECT db1');
    const client = connect(cluster.gatewayPort(0));
    await eventually(60_000, 'the namespace is known', async () => {
      return (await client.select(1)) === 'OK';
    });
    await client.set('key', 'value');
    await verb('namespaces', 'update', 'db1', '--replicas', '3', '--reads', 'lease');
    await eventually(90_000, 'three replicas each', async () => {
      const { partitions } = await json<{ partitions: PartitionAnswer[] }>('partitions', 'db1');
      return partitions.every(({ wanted, settled }) => wanted.length === 3 && settled);
    });
    expect(await client.get('key')).toBe('value');
    const { namespaces } = await json<{ namespaces: NamespaceAnswer[] }>('namespaces');
    expect(namespaces.map(({ name, replicas }) => [name, replicas])).toEqual([
      ['db1', 3],
      ['default', 3],
    ]);
    expect(await failure('namespaces', 'create', 'db1')).toMatch(/^kvorum: /);
    expect(await failure('namespaces', 'delete', 'db1')).toContain('say --yes to mean it');
    await verb('namespaces', 'delete', 'db1', '--yes');
    expect(await verb('namespaces')).not.toContain('db1 ');
    // a node hears of it by its own watch
    await eventually(60_000, 'no node serves it', () => {
      return client.get('key').then(
        () => false,
        () => true,
      );
    });
    client.disconnect();
  }, 300_000);

  test('moves a replica and names a leader, and waits for both', async () => {
    await verb('balance', 'off');
    const { wanted } = await partition(2);
    const from = wanted[1]!.node;
    const all = [1, 2, 3, 4].map((number) => `datanode${number}`);
    const to = all.find((name) => wanted.every(({ node }) => node !== name))!;
    expect(await verb('move', 'default/2', from, to)).toContain(`has moved from ${from} to ${to}`);
    expect((await partition(2)).wanted.map(({ node }) => node)).toContain(to);
    expect(await failure('move', 'default/2', from, to)).toContain(from);
    expect(await verb('transfer-leader', 'default/2', to)).toContain(`is led by ${to}`);
    expect((await partition(2)).leader?.node).toBe(to);
    expect(await failure('move', 'default', from, to)).toContain('name a partition as default/3');
  }, 300_000);

  test('shows and sets the switches of the cluster', async () => {
    expect(await verb('balance', 'on', '--window', '22:00-06:00')).toContain(
      'replicas move to be more even from 22:00 to 06:00 UTC',
    );
    expect(await verb('balance', '--window', 'any')).toContain('at any time');
    expect(await failure('balance', 'maybe')).toContain('say on or off');
    expect(await verb('upgrade', 'begin')).toContain('upgrade mode');
    expect(await verb('nodes')).toContain('nothing moves: upgrade mode is on');
    expect(await verb('upgrade', 'done')).toContain('no upgrade');
    expect(await verb('stable-nodes')).toContain('stable node count 4, 4 datanodes alive');
    expect(await failure('stable-nodes', '9')).toContain('stable');
    expect(await failure('rebuild', 'default/0', '--survivor', 'datanode1')).toContain(
      'say --confirm "lose-data-of default/0"',
    );
    const meant = ['--survivor', 'datanode1', '--confirm', 'lose-data-of default/0'];
    expect(await failure('rebuild', 'default/0', ...meant)).toMatch(/^kvorum: .*quorum/);
  }, 300_000);
});
