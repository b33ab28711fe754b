import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys, type NodeRecord } from '../../../src/meta/schema.ts';
import { repairReplicas } from '../../../src/placedriver/chores/repairs.ts';
import { createNamespace } from '../../../src/placedriver/namespaces.ts';
import { Groups } from '../groups.ts';
import { becomeMaster, register } from '../master.ts';

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
