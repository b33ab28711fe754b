import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { type Logger, silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import {
  encodeRecord,
  keys,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../src/placedriver/coordinator.ts';
import type { PlacementSettings } from '../../src/placedriver/term.ts';
import { hooked } from './master.ts';

let meta: MemoryMeta;
let store: MetaStore;
let running: { coordinator: PlacedriverCoordinator; client: MetaStore & { crash(): void } }[];

beforeEach(() => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  running = [];
});

afterEach(async () => {
  await Promise.all(running.map(({ coordinator }) => coordinator.stop()));
});

function start(
  name: string,
  {
    placement = {},
    reads,
    logger = silentLogger,
    hooks = () => ({}),
  }: {
    placement?: Partial<PlacementSettings>;
    reads?: NamespaceRecord['reads'];
    logger?: Logger;
    hooks?: (store: MetaStore) => Partial<MetaStore>;
  } = {},
) {
  const client = meta.connect();
  const coordinator = new PlacedriverCoordinator({
    store: hooked(client, hooks(client)),
    clock: systemClock,
    random: seededRandom(name),
    logger,
    name,
    leaseTtlMs: 300,
    default: { nodes: 4, partitions: 6, replicas: 3, ...(reads && { reads }) },
    placement,
  });
  coordinator.start();
  const entry = { coordinator, client };
  running.push(entry);
  return entry;
}

async function register(name: string, dc: string, incarnation = `${name}-1`): Promise<void> {
  const record: NodeRecord = {
    version: 1,
    node: name,
    incarnation,
    bootId: 'b',
    host: name,
    transportPort: 1,
    gatewayPort: 2,
    clusterPort: 3,
    httpPort: 4,
    tags: { dc_info: dc },
  };
  await store.put(keys.node(name), encodeRecord(record));
}

/** The table from partition `first` on. */
async function table(first = 0): Promise<PartitionRecord[]> {
  const { items } = await store.range(keys.partitions);
  return items
    .slice(first)
    .map((item) => decodeRecord(recordKinds.partition, item.key, item.value));
}

async function registerAll(): Promise<void> {
  for (const name of ['a1', 'a2']) await register(name, 'a');
  for (const name of ['b1', 'b2']) await register(name, 'b');
}

describe('a placedriver', () => {
  test('makes the cluster and, once enough nodes are there, its namespace', async () => {
    start('pd1');
    await expect.poll(() => store.get(keys.cluster)).toBeDefined();
    await register('a1', 'a');
    await register('a2', 'a');
    await register('b1', 'b');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await table()).toEqual([]);
    await register('b2', 'b');
    await expect.poll(async () => (await table()).length).toBe(6);
    await expect
      .poll(async () => (await store.get(keys.namespace('default')))?.value)
      .toContain('"ready":true');
    const records = await table();
    const ids = records.flatMap(({ replicas }) => replicas.map(({ replica }) => replica));
    expect(new Set(ids).size).toBe(18);
    for (const { replicas, birth } of records) {
      expect(birth).toEqual(replicas);
      expect(new Set(replicas.map(({ node }) => node)).size).toBe(3);
      expect(new Set(replicas.map(({ node }) => node[0])).size).toBe(2);
    }
    expect(new Set(records.map(({ replicas }) => replicas[0]!.node)).size).toBe(4);
  });

  test('one is master; when it dies another takes over and makes nothing twice', async () => {
    const first = start('pd1');
    await expect.poll(() => first.coordinator.isMaster).toBe(true);
    const second = start('pd2');
    await registerAll();
    await expect.poll(async () => (await table()).length).toBe(6);
    const before = await table();
    expect(second.coordinator.isMaster).toBe(false);
    first.client.crash();
    await expect.poll(() => second.coordinator.isMaster).toBe(true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await table()).toEqual(before);
  });

  test('finishes a namespace that a dead master left half written', async () => {
    const first = start('pd1');
    await expect.poll(() => first.coordinator.isMaster).toBe(true);
    await registerAll();
    await expect.poll(async () => (await table()).length).toBe(6);
    await first.coordinator.stop();
    const half = await store.get(keys.namespace('default'));
    await store.put(
      keys.namespace('default'),
      half!.value.replace('"ready":true', '"ready":false'),
    );
    await store.delete(keys.partition('default', 5));
    start('pd2');
    await expect.poll(async () => (await table()).length).toBe(6);
    await expect
      .poll(async () => (await store.get(keys.namespace('default')))?.value)
      .toContain('"ready":true');
  });

  test('goes on beside records that cannot be read, and writes over none of them', async () => {
    await registerAll();
    const first = start('pd1');
    await expect
      .poll(async () => (await store.get(keys.namespace('default')))?.value)
      .toContain('"ready":true');
    await store.put(keys.namespace('default'), '{"version":1,"ready":"perhaps"}');
    await store.put(keys.partition('default', 0), '{"version":1}');
    await store.put(keys.damage(99), 'nothing');
    const lost = (await table(1)).find(({ replicas }) =>
      replicas.some(({ node }) => node === 'a1'),
    )!;
    const { namespace, partition, replicas } = lost;
    const ids = replicas.map(({ replica }) => replica);
    const leader = {
      version: 1,
      namespace,
      partition,
      node: replicas[0]!.node,
      replica: ids[0]!,
      term: 1,
      membership: { epoch: 1, voters: ids, learners: [], joint: false },
    };
    await store.put(keys.leader(namespace, partition), encodeRecord(leader));
    await first.coordinator.stop();
    start('pd2');
    await register('a1', 'a', 'a1-2');
    await expect
      .poll(async () => (await table(1)).find((one) => one.partition === partition)?.epoch)
      .toBe(2);
    expect((await store.get(keys.namespace('default')))?.value).toContain('perhaps');
    expect((await store.get(keys.partition('default', 0)))?.value).toBe('{"version":1}');
  });

  test('a lost node waits its time over a change of master, and is forgotten by time alone', async () => {
    const control = { version: 1, stableNodes: 0, balance: { enabled: false } };
    await store.put(keys.control, encodeRecord(control));
    await registerAll();
    const first = start('pd1', { placement: { migrateWaitMs: 4_000 } });
    await expect
      .poll(async () => (await store.get(keys.namespace('default')))?.value)
      .toContain('"ready":true');
    for (const { namespace, partition, replicas } of await table()) {
      const voters = replicas.map(({ replica }) => replica);
      const leader = {
        ...{
          version: 1,
          namespace,
          partition,
          node: replicas[0]!.node,
          replica: voters[0]!,
          term: 1,
        },
        membership: { epoch: 1, voters, learners: [], joint: false },
      };
      await store.put(keys.leader(namespace, partition), encodeRecord(leader));
    }
    await register('c1', 'c');
    const state = async () => (await store.get(keys.nodeState('c1')))?.value;
    await expect.poll(state).toContain('"firstSeenMs"');
    await store.delete(keys.node('c1'));
    await expect.poll(state).toContain('"lostSinceMs"');
    const before = await state();
    first.client.crash();
    const second = start('pd2', { placement: { migrateWaitMs: 4_000 } });
    await expect.poll(() => second.coordinator.isMaster).toBe(true);
    const { lostSinceMs } = JSON.parse(before!) as { lostSinceMs: number };
    const kept = await state();
    // seen later it says nothing
    if (systemClock.wallMs() - lostSinceMs < 4_000) expect(kept).toBe(before);
    await expect.poll(state, { timeout: 30_000 }).toBeUndefined();
    expect(systemClock.wallMs() - lostSinceMs).toBeGreaterThanOrEqual(4_000);
    expect((await store.get(keys.control))?.value).toContain('"stableNodes":5');
    expect((await store.range(keys.nodeStates)).items.length).toBe(4);
  });

  test('a master whose key is taken away, though its lease holds, campaigns anew', async () => {
    const told: string[] = [];
    const logger = { ...silentLogger, info: (text: string) => void told.push(text) };
    const { coordinator } = start('pd1', { logger });
    await expect.poll(() => coordinator.operator).toBeDefined();
    for (const { key } of (await store.range(keys.election)).items) await store.delete(key);
    const began = async () => {
      await coordinator.operator?.setUpgrade(true);
      return (await store.get(keys.control))?.value;
    };
    await expect
      .poll(() => began().catch(() => undefined), { timeout: 30_000 })
      .toContain('"upgradeSinceMs"');
    const terms = told.filter((text) => text.startsWith('this placedriver is master'));
    expect(terms).toEqual([
      'this placedriver is master',
      'this placedriver is master no more',
      'this placedriver is master',
    ]);
  });

  test('the same when its watch was told of it by a list only', async () => {
    const { coordinator } = start('pd1');
    await expect.poll(() => coordinator.operator).toBeDefined();
    const { items } = await store.range(keys.election);
    meta.available = false;
    meta.commit(
      [],
      items.map(({ key }) => ({ type: 'delete', key })),
    );
    meta.available = true;
    await expect
      .poll(async () => (await store.range(keys.election)).items, { timeout: 10_000 })
      .toHaveLength(1);
    await expect.poll(() => coordinator.isMaster).toBe(true);
  });

  test('the cluster keeps its id, whoever is master', async () => {
    const first = start('pd1');
    await expect.poll(() => first.coordinator.operator).toBeDefined();
    const cluster = await store.get(keys.cluster);
    await first.coordinator.stop();
    const second = start('pd2');
    await expect.poll(() => second.coordinator.operator).toBeDefined();
    expect(cluster).toBeDefined();
    expect(await store.get(keys.cluster)).toEqual(cluster);
  });

  test('gives way between its chores', async () => {
    const endOfTurn = vi.spyOn(systemClock, 'endOfTurn');
    start('pd1');
    // there are five of them
    await expect.poll(() => endOfTurn.mock.calls.length).toBeGreaterThanOrEqual(4);
    endOfTurn.mockRestore();
  });

  test('stopped, it gives its lease up when its work is over, not before', async () => {
    const order: string[] = [];
    let goOn = () => {};
    const may = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const hooks = (client: MetaStore): Partial<MetaStore> => ({
      grantLease: async (ttlMs) => {
        const lease = await client.grantLease(ttlMs);
        const revoke = () => {
          order.push('revoked');
          return lease.revoke();
        };
        return Object.create(lease, { revoke: { value: revoke }, lost: { get: () => lease.lost } });
      },
      transaction: async (compares, operations) => {
        const isFirst = operations[0]?.key.startsWith(keys.control) && order.length === 0;
        if (!isFirst) return client.transaction(compares, operations);
        order.push('begun');
        await may;
        order.push('written');
        return client.transaction(compares, operations);
      },
    });
    const { coordinator } = start('pd1', { hooks });
    await expect.poll(() => order).toContain('begun');
    const stopping = coordinator.stop();
    await new Promise((resolve) => setTimeout(resolve, 50));
    goOn();
    await stopping;
    expect(order).toEqual(['begun', 'written', 'revoked']);
  });

  test('begins no other work once its mastership is lost, though the store has not seen that', async () => {
    await registerAll();
    const lost = new AbortController();
    let ended = false;
    const hooks = (client: MetaStore): Partial<MetaStore> => ({
      campaign: async (prefix, value, lease, signal) => {
        if (lost.signal.aborted) {
          ended = true;
          return new Promise((_, reject) => signal?.addEventListener('abort', reject));
        }
        const leadership = await client.campaign(prefix, value, lease, signal);
        return { ...leadership, lost: lost.signal };
      },
      transaction: async (compares, operations) => {
        const result = await client.transaction(compares, operations);
        if (operations[0]?.key.startsWith(keys.control)) lost.abort();
        return result;
      },
    });
    start('pd1', { hooks });
    await expect.poll(() => ended).toBe(true);
    expect(await store.get(keys.namespace('default'))).toBeUndefined();
  });

  test('an operator asks the master, and no other', async () => {
    const first = start('pd1');
    await expect.poll(() => first.coordinator.operator).toBeDefined();
    const second = start('pd2');
    expect(second.coordinator.operator).toBeUndefined();
    await first.coordinator.operator!.setUpgrade(true);
    expect((await store.get(keys.control))?.value).toContain('"upgradeSinceMs"');
  });
});
