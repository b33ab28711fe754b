import { describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  type DamageRecord,
  encodeRecord,
  keys,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { repairReplicas } from '../../../src/placedriver/chores/repairs.ts';
import { createNamespace } from '../../../src/placedriver/namespaces.ts';
import type { MasterTerm } from '../../../src/placedriver/term.ts';
import { Groups } from '../groups.ts';
import { becomeMaster, hooked, register } from '../master.ts';

test('a node that came back empty is refilled a few replicas at a time, with ids drawn at once', async () => {
  const meta = new MemoryMeta({ clock: systemClock });
  const store = meta.connect();
  await register(store, 'n1', 'n2', 'n3');
  const { term, look } = await becomeMaster(meta, systemClock, { movesAtOnceMax: 3 });
  await createNamespace(term, { name: 'a', hash: 'slots', partitions: 8, replicas: 3 });
  const groups = new Groups(store);
  await groups.step();
  const item = await store.get(keys.node('n2'));
  const record = JSON.parse(item!.value) as NodeRecord;
  const wiped: NodeRecord = { ...record, incarnation: 'n2-2' };
  await store.put(keys.node('n2'), encodeRecord(wiped));
  const refilled = async () => {
    const all = (await groups.records()).flatMap(({ replicas }) => replicas);
    const made = all.filter(({ incarnation }) => incarnation === 'n2-2');
    expect(new Set(all.map(({ replica }) => replica)).size).toBe(24);
    return made.length;
  };
  const get = vi.spyOn(term.store, 'get');
  const reservations = () => get.mock.calls.filter(([key]) => key === keys.counters).length;
  await look();
  await repairReplicas(term);
  expect([await refilled(), reservations()]).toEqual([3, 1]);
  await look();
  await repairReplicas(term);
  expect([await refilled(), reservations()]).toEqual([3, 1]);
  for (let round = 0; round < 8; round++) {
    await groups.step();
    await look();
    await repairReplicas(term);
  }
  expect(await refilled()).toBe(8);
});

describe('replicas that their node tells as damaged', () => {
  /** One of each of three groups, all on one node. */
  async function damaged() {
    const meta = new MemoryMeta({ clock: systemClock });
    const store = meta.connect();
    await register(store, 'n1', 'n2', 'n3');
    const { term, look } = await becomeMaster(meta, systemClock);
    await createNamespace(term, { name: 'a', hash: 'slots', partitions: 3, replicas: 3 });
    const groups = new Groups(store);
    await groups.step();
    const lost = (await groups.records()).map(
      ({ replicas }) => replicas.find(({ node }) => node === 'n2')!.replica,
    );
    for (const [partition, replica] of lost.entries()) {
      const record: DamageRecord = {
        ...{ version: 1, namespace: 'a', partition, replica, node: 'n2', incarnation: 'n2-1' },
        reason: 'a bad checksum',
      };
      await store.put(keys.damage(replica), encodeRecord(record));
    }
    await look();
    const mended = async () => {
      const all = (await groups.records()).flatMap(({ replicas }) => replicas);
      return lost.map((id) => all.every(({ replica }) => replica !== id));
    };
    const told = async () => (await store.range(keys.damages)).items.length;
    return { store, term, groups, mended, told };
  }

  const beside = (term: MasterTerm, hooks: Partial<MetaStore>): MasterTerm => ({
    ...term,
    store: hooked(term.store, hooks),
  });

  test('are told no more once others are to take their place', async () => {
    const { term, mended, told } = await damaged();
    expect([await mended(), await told()]).toEqual([[false, false, false], 3]);
    await repairReplicas(term);
    expect([await mended(), await told()]).toEqual([[true, true, true], 0]);
  });

  test('stay where somebody else changed the record since it was looked at', async () => {
    const { store, term, groups, mended, told } = await damaged();
    const changed: PartitionRecord = { ...(await groups.records())[1]!, epoch: 7 };
    const key = keys.partition('a', 1);
    const get: MetaStore['get'] = async (asked) => {
      if (asked === keys.counters) await store.put(key, encodeRecord(changed));
      return term.store.get(asked);
    };
    await repairReplicas(beside(term, { get }));
    expect([await mended(), await told()]).toEqual([[true, false, true], 1]);
    expect((await store.get(key))?.value).toBe(encodeRecord(changed));
  });

  test('stay once it is master no more, though the store has not seen that', async () => {
    const { term, mended } = await damaged();
    const lost = new AbortController();
    const transaction: MetaStore['transaction'] = async (compares, operations) => {
      const result = await term.store.transaction(compares, operations);
      if (operations.some(({ key }) => key === keys.partition('a', 0))) lost.abort();
      return result;
    };
    const ending = beside(term, { transaction });
    await repairReplicas({ ...ending, leadership: { ...term.leadership, lost: lost.signal } });
    expect(await mended()).toEqual([true, false, false]);
  });
});
