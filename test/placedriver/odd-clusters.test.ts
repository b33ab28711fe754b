/** Odd but legal clusters, and what operators do to them in the middle of other things. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type NodeRecord,
  type PartitionRecord,
} from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { Operator } from '../../src/placedriver/operator/operator.ts';
import { eventually } from '../cluster/cluster.ts';
import { Groups } from './groups.ts';

const WAIT_MS = 300;
const WITHIN_MS = 10_000;

let meta: MemoryMeta;
let store: MetaStore;
let groups: Groups;
let driver: PlacedriverCoordinator;

beforeEach(() => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  groups = new Groups(store);
  groups.start();
});

afterEach(async () => {
  await driver.stop();
  await groups.stop();
});

async function begin(nodes: number, partitions: number, replicas: number): Promise<Operator> {
  for (let i = 1; i <= nodes; i++) await join(`n${i}`);
  driver = new PlacedriverCoordinator({
    ...{ store: meta.connect(), clock: systemClock, random: seededRandom('odd') },
    ...{ logger: silentLogger, name: 'pd1', leaseTtlMs: 2_000 },
    default: { nodes, partitions, replicas },
    placement: { planDelayMs: 5, migrateWaitMs: WAIT_MS, leaderWaitMs: 0 },
  });
  driver.start();
  await eventually(WITHIN_MS, 'the namespace is served', () => isSettled(partitions));
  return driver.operator!;
}

async function join(node: string, more: Partial<NodeRecord> = {}): Promise<void> {
  const ports = { transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 };
  const who = { version: 1, node, incarnation: `${node}-1`, bootId: 'b', host: node, tags: {} };
  await store.put(keys.node(node), encodeRecord({ ...who, ...ports, ...more }));
}

const leave = (node: string) => store.delete(keys.node(node));

async function isSettled(partitions: number): Promise<boolean> {
  const [records, leaders] = [await groups.records(), await groups.leaders()];
  const served = records.filter(
    ({ group, epoch }) => leaders.get(group)?.membership.epoch === epoch,
  );
  return records.length === partitions && served.length === partitions;
}

async function held(node: string): Promise<number> {
  const replicas = (await groups.records()).flatMap((record) => record.replicas);
  return replicas.filter((replica) => replica.node === node).length;
}

const isEmpty = (node: string) => async () => (await held(node)) === 0;
const idsOf = (records: readonly PartitionRecord[]) =>
  records.map(({ replicas }) => replicas.map(({ replica }) => replica).sort());
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('one node is all there is: it is not emptied, and what it had it has again', async () => {
  const operator = await begin(1, 4, 1);
  await expect(operator.drain('n1')).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('without n1 there are 0 nodes for 1 replicas of default'),
  });
  const what = { namespace: 'default', partition: 0 };
  await expect(operator.removeReplica(what, 'n1')).rejects.toMatchObject({ code: 'CONFLICT' });
  const before = idsOf(await groups.records());
  await leave('n1');
  await pause(3 * WAIT_MS);
  await join('n1');
  await pause(WAIT_MS);
  expect(idsOf(await groups.records())).toEqual(before);
});

test('seven replicas on seven nodes: none is drained, a lost one is waited for', async () => {
  const operator = await begin(7, 3, 7);
  await expect(operator.drain('n7')).rejects.toThrow(/6 nodes for 7 replicas/);
  const before = idsOf(await groups.records());
  await leave('n7');
  await pause(3 * WAIT_MS);
  expect(idsOf(await groups.records())).toEqual(before);
  await join('n8');
  await eventually(WITHIN_MS, 'another takes its place', isEmpty('n7'));
  await eventually(WITHIN_MS, 'it is settled', () => isSettled(3));
  expect(await held('n8')).toBe(3);
});

test('tags that change while a node is drained: it waits until somebody may take its replicas', async () => {
  const operator = await begin(4, 4, 3);
  await operator.drain('n1');
  await eventually(WITHIN_MS, 'n1 is empty', isEmpty('n1'));
  await operator.undrain('n1');
  for (const node of ['n1', 'n2', 'n3']) await join(node, { tags: { disk: 'ssd' } });
  await eventually(WITHIN_MS, 'the master knows the tags', () =>
    operator.updateNamespace('default', { tags: ['disk=ssd'] }).then(() => true),
  );
  await eventually(WITHIN_MS, 'n4 is empty, which has not the tag', isEmpty('n4'));
  await eventually(WITHIN_MS, 'settled', () => isSettled(4));
  await expect(operator.drain('n1')).rejects.toThrow(/2 nodes for 3 replicas of default/);
  await join('n4', { tags: { disk: 'ssd' } });
  await eventually(WITHIN_MS, 'a drain may begin', () => operator.drain('n1').then(() => true));
  await join('n4', { tags: { disk: 'hdd' } });
  await pause(2 * WAIT_MS);
  for (const { replicas } of await groups.records()) expect(replicas).toHaveLength(3);
  await join('n4', { tags: { disk: 'ssd' } });
  await eventually(WITHIN_MS, 'n1 is empty', isEmpty('n1'));
});

test('a namespace that is deleted while its replicas move ends the drain, and nothing is left', async () => {
  const operator = await begin(4, 4, 3);
  const spec = { name: 'other', partitions: 12, replicas: 3, hash: 'slots' } as const;
  await operator.createNamespace(spec);
  await eventually(WITHIN_MS, 'both are served', () => isSettled(16));
  groups.paused = true;
  await operator.drain('n2');
  await eventually(WITHIN_MS, 'moves have begun', async () => {
    return (await groups.records()).some(({ move }) => move !== undefined);
  });
  await operator.deleteNamespace('other');
  groups.paused = false;
  await eventually(WITHIN_MS, 'n2 is empty', isEmpty('n2'));
  await eventually(WITHIN_MS, 'settled', () => isSettled(4));
  expect((await store.range(keys.leadersOf('other'))).items).toEqual([]);
  await operator.createNamespace(spec);
  await eventually(WITHIN_MS, 'it is made anew', () => isSettled(16));
  expect(await held('n2')).toBe(0);
});

test('a stable count that is lowered twice lets what waits go on, and never rises by it', async () => {
  const operator = await begin(6, 6, 3);
  for (const node of ['n4', 'n5', 'n6']) await leave(node);
  await pause(2 * WAIT_MS);
  expect((await held('n4')) + (await held('n5')) + (await held('n6'))).toBe(9);
  await operator.lowerStableNodes(4);
  await operator.lowerStableNodes(3);
  await operator.lowerStableNodes(3);
  await expect(operator.lowerStableNodes(4)).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
  // partitions that lost their quorum stay as they are: somebody must give them up
  await eventually(WITHIN_MS, 'what has a quorum moves', async () => {
    const records = await groups.records();
    const lost = records.map(
      ({ replicas }) => replicas.filter(({ node }) => ['n4', 'n5', 'n6'].includes(node)).length,
    );
    return lost.every((count) => count !== 1);
  });
});

test('a node at another address is the same one; under another name it is another', async () => {
  await begin(4, 4, 3);
  const before = await groups.records();
  await join('n1', { host: '10.9.9.9', gatewayPort: 1_234, bootId: 'c' });
  await pause(WAIT_MS);
  expect(await groups.records()).toEqual(before);
  await leave('n1');
  await join('m1', { incarnation: 'n1-1', host: '10.9.9.9' });
  await eventually(WITHIN_MS, 'the old name is given up', isEmpty('n1'));
  await eventually(WITHIN_MS, 'settled', () => isSettled(4));
  expect(await held('m1')).toBe(3);
});

test('a node that should hold fewer than it does gives some away, as far as others have room', async () => {
  await begin(4, 8, 3);
  await join('n1', { capacity: 1 });
  await eventually(WITHIN_MS, 'n1 holds one', async () => (await held('n1')) === 1);
  await eventually(WITHIN_MS, 'settled', () => isSettled(8));
  for (const node of ['n2', 'n3', 'n4']) await join(node, { capacity: 1 });
  await pause(WAIT_MS);
  for (const { replicas } of await groups.records()) {
    expect(new Set(replicas.map(({ node }) => node)).size).toBe(3);
  }
});
