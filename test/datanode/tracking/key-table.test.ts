/** The table of a partition's keys beside a plain model: few and many readers, who come, go and are told. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { KeyTable } from '../../../src/datanode/tracking/key-table.ts';
import type { TrackedClient } from '../../../src/datanode/tracking/tracked-client.ts';

interface Fake {
  readonly id: number;
  readonly epoch: number;
  isOn: boolean;
}

const fake = (id: number): Fake => ({ id, epoch: 0, isOn: true });
const as = (client: Fake) => client as unknown as TrackedClient;
const change = { index: 1, alone: true, all: false, keys: [] };

test('few and many readers of a key are found, told of it once, and counted', () => {
  const random = seededRandom(7);
  const counts = { keys: 0, items: 0 };
  const table = new KeyTable(counts);
  const clients = Array.from({ length: 40 }, (_, id) => fake(id));
  const model = new Map<string, Set<Fake>>();
  for (let step = 0; step < 4_000; step++) {
    const name = `k${random.u32() % 3}`;
    const client = clients[random.u32() % clients.length]!;
    const known = model.get(name) ?? new Set();
    const what = random.u32() % 100;
    if (what < 90) {
      expect(table.find(name, as(client)) !== undefined).toBe(known.has(client));
      if (!known.has(client)) table.add(name, as(client), 1);
      model.set(name, known.add(client));
    } else if (what < 98) {
      table.remove(name, as(client));
      known.delete(client);
    } else {
      const told = new Set<unknown>();
      const isKept = (reader: { client: TrackedClient }) => {
        told.add(reader.client);
        return (reader.client as unknown as Fake).id % 3 === 0;
      };
      table.changed(name, change, isKept);
      expect(told).toEqual(known);
      for (const one of known) if (one.id % 3 !== 0) known.delete(one);
    }
    if (known.size === 0) model.delete(name);
    const items = [...model.values()].reduce((sum, { size }) => sum + size, 0);
    expect(counts).toEqual({ keys: model.size, items });
  }
  table.clear();
  expect(counts).toEqual({ keys: 0, items: 0 });
});

test('of a key that never changes those that have gone are dropped, also of many', () => {
  const counts = { keys: 0, items: 0 };
  const table = new KeyTable(counts);
  const stays = Array.from({ length: 20 }, (_, id) => fake(id));
  for (const one of stays) table.add('a', as(one), 1);
  for (let id = 100; id < 2_000; id++) {
    const goes = fake(id);
    expect(table.find('a', as(goes))).toBeUndefined();
    table.add('a', as(goes), 1);
    goes.isOn = false;
  }
  expect(counts.items).toBeLessThan(3 * stays.length);
  for (const one of stays) expect(table.find('a', as(one))).toBeDefined();
});
