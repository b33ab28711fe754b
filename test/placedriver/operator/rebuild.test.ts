import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { decodeRecord, recordKinds } from '../../../src/meta/records.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type NodeRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../../src/placedriver/coordinator.ts';
import type { Operator } from '../../../src/placedriver/operator/operator.ts';

let store: MetaStore;
/** The coordinator's own. */
let masters: MetaStore;
let coordinator: PlacedriverCoordinator;
let warnings: string[];

beforeEach(async () => {
  const meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  masters = meta.connect();
  warnings = [];
  coordinator = new PlacedriverCoordinator({
    store: masters,
    clock: systemClock,
    random: seededRandom('pd1'),
    logger: {
      ...silentLogger,
      warn: (message, fields) => warnings.push(`${message} ${JSON.stringify(fields)}`),
    },
    name: 'pd1',
    leaseTtlMs: 1_000,
    default: { nodes: 3, partitions: 1, replicas: 3 },
  });
  coordinator.start();
  for (const name of ['n1', 'n2', 'n3']) await register(name);
  await expect
    .poll(async () => (await store.get(keys.namespace('default')))?.value)
    .toMatch('"ready":true');
  await report((await table()).replicas.map(({ replica }) => replica));
});

afterEach(() => coordinator.stop());

async function register(node: string): Promise<void> {
  const ports = { transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 };
  const who = { version: 1, node, incarnation: `${node}-1`, bootId: 'b', host: node, tags: {} };
  const record: NodeRecord = { ...who, ...ports };
  await store.put(keys.node(node), encodeRecord(record));
}

async function table() {
  const item = (await store.get(keys.partition('default', 0)))!;
  return decodeRecord(recordKinds.partition, item.key, item.value);
}

async function report(voters: number[]): Promise<void> {
  const { group, epoch } = await table();
  const membership = { epoch, voters, learners: [], joint: false };
  const place = { version: 1, namespace: 'default', partition: 0, group };
  const record: LeaderRecord = { ...place, node: 'n1', replica: voters[0]!, term: 5, membership };
  await store.put(keys.leader('default', 0), encodeRecord(record));
}

const what = { namespace: 'default', partition: 0 };
const confirmation = 'lose-data-of default/0';

async function operator(): Promise<Operator> {
  await expect.poll(() => coordinator.operator).toBeDefined();
  return coordinator.operator!;
}

async function lose(): Promise<void> {
  for (const name of ['n2', 'n3']) await store.delete(keys.node(name));
}

test('says loudly what is given up, unless that is confirmed word by word', async () => {
  const master = await operator();
  await lose();
  const before = await table();
  const lost = before.replicas.filter(({ node }) => node !== 'n1');
  for (const wrong of ['', 'yes', 'lose-data-of default/1']) {
    const refused = master.rebuild(what, 'n1', wrong);
    await expect(refused).rejects.toMatchObject({ code: 'BAD_ARGUMENT' });
    await expect(refused).rejects.toThrow(
      /^confirmation: must be exactly "lose-data-of default.0"/,
    );
    for (const { replica, node } of lost) {
      await expect(refused).rejects.toThrow(`${replica} on ${node}`);
    }
  }
  expect(await table()).toEqual(before);
});

test('names what is not there', async () => {
  const master = await operator();
  for (const other of [
    { ...what, namespace: 'none' },
    { ...what, partition: 7 },
  ]) {
    const refused = master.rebuild(other, 'n1', 'lose-data-of none/0');
    await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND' });
  }
});

test('a namespace that is deleted meanwhile gets no group that nobody tells of', async () => {
  const master = await operator();
  await lose();
  const item = (await store.get(keys.namespace('default')))!;
  const record = decodeRecord(recordKinds.namespace, item.key, item.value);
  const deleted: NamespaceRecord = { ...record, ready: false, deleting: true };
  const { range } = masters;
  const spy = vi.spyOn(masters, 'range').mockImplementation(async (prefix, ...more) => {
    const found = await range.call(masters, prefix, ...more);
    if (prefix === keys.damages) await store.put(item.key, encodeRecord(deleted));
    return found;
  });
  const refused = master.rebuild(what, 'n1', confirmation);
  await expect(refused).rejects.toMatchObject({ code: 'NOT_FOUND' });
  spy.mockRestore();
});

test('a group of another id goes on from the survivor, asked once or twice', async () => {
  const master = await operator();
  await expect(master.rebuild(what, 'n1', confirmation)).rejects.toMatchObject({
    code: 'CONFLICT',
  });
  await lose();
  const before = await table();
  const own = before.replicas.filter(({ node }) => node === 'n1');
  await master.rebuild(what, 'n1', confirmation);
  const after = await table();
  expect(after).toMatchObject({ birth: own, replicas: own, epoch: before.epoch + 1 });
  expect(after.group).toBeGreaterThan(before.group);
  expect(after.rebuilt).toMatchObject({ epoch: after.epoch, formerGroups: [before.group] });
  expect(after.rebuilt?.lost).toHaveLength(2);
  expect(await store.get(keys.leader('default', 0))).toBeUndefined();
  expect(warnings.join()).toContain('what only the others held is given up');
  await master.rebuild(what, 'n1', confirmation);
  expect(await table()).toEqual(after);
});

test('is filled up on living nodes once it is led, one replica after the other', async () => {
  const master = await operator();
  await lose();
  await master.rebuild(what, 'n1', confirmation);
  const { replicas } = await table();
  const [own] = replicas;
  // two of three are lost for good: an operator says so, else nothing moves
  await master.lowerStableNodes(1);
  for (const node of ['n4', 'n5']) await register(node);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await table()).replicas).toEqual([own]);
  await report([own!.replica]);
  await expect.poll(async () => (await table()).replicas.length).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await table()).replicas).toHaveLength(2);
  await report((await table()).replicas.map(({ replica }) => replica));
  await expect.poll(async () => (await table()).replicas.length).toBe(3);
  const ids = (await table()).replicas.map(({ replica }) => replica);
  expect(new Set(ids).size).toBe(3);
  expect(Math.min(...ids.slice(1))).toBeGreaterThan(3);
});
