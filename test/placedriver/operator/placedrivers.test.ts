import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { PlacedriverCoordinator } from '../../../src/placedriver/coordinator.ts';
import { placedriverRequests } from '../../../src/placedriver/operator/placedrivers.ts';
import { becomeMaster, hooked } from '../master.ts';

let meta: MemoryMeta;
let store: MetaStore;
let running: Map<string, PlacedriverCoordinator>;

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  running = new Map();
  for (const name of ['pd1', 'pd2']) {
    const record = { version: 1, name, host: 'h', httpPort: 1, build: '9' };
    await store.put(keys.placedriver(name), encodeRecord(record));
    await start(name);
  }
});

afterEach(async () => {
  await Promise.all([...running.values()].map((coordinator) => coordinator.stop()));
});

async function start(name: string): Promise<void> {
  const coordinator = new PlacedriverCoordinator({
    store: meta.connect(),
    clock: systemClock,
    random: seededRandom(name),
    logger: silentLogger,
    name,
    leaseTtlMs: 300,
    default: { nodes: 9, partitions: 6, replicas: 3 },
  });
  coordinator.start();
  running.set(name, coordinator);
  await expect.poll(async () => (await store.range(keys.election)).items.length).toBe(running.size);
  await expect.poll(masters).toHaveLength(1);
}

const masters = () =>
  [...running].flatMap(([name, { operator }]) => (operator === undefined ? [] : [name]));
const ban = (on: string, name: string, banned: boolean) =>
  running.get(on)!.operator!.banPlacedriver(name, banned);

test('a banned master resigns, another follows, and it comes back only when the ban is lifted', async () => {
  expect(masters()).toEqual(['pd1']);
  await ban('pd1', 'pd1', true);
  await expect.poll(masters).toEqual(['pd2']);
  await new Promise((resolve) => setTimeout(resolve, 700)); // longer than it waits to try again
  const candidates = (await store.range(keys.election)).items.map(({ value }) => value);
  expect(candidates, 'the banned one is no candidate').toEqual(['pd2']);
  await ban('pd2', 'pd1', true); // again: nothing to do
  await ban('pd2', 'pd1', false);
  await expect
    .poll(async () => (await store.range(keys.election)).items.map(({ value }) => value))
    .toEqual(['pd2', 'pd1']);
});

test('a placedriver that starts banned does not campaign', async () => {
  await ban('pd1', 'pd2', true);
  await running.get('pd2')!.stop();
  running.delete('pd2');
  await ban('pd1', 'pd2', true);
  const late = new PlacedriverCoordinator({
    store: meta.connect(),
    clock: systemClock,
    random: seededRandom('late'),
    logger: silentLogger,
    name: 'pd2',
    leaseTtlMs: 300,
    default: { nodes: 9, partitions: 6, replicas: 3 },
  });
  late.start();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await store.range(keys.election)).items.map(({ value }) => value)).toEqual(['pd1']);
  await late.stop();
});

test('the last one that may be master is not banned, whoever asks at the same time', async () => {
  const both = await Promise.allSettled([ban('pd1', 'pd1', true), ban('pd1', 'pd2', true)]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect((await store.range(keys.banned)).items).toHaveLength(1);
  const refusal = both.find(({ status }) => status === 'rejected') as PromiseRejectedResult;
  expect(['CONFLICT', 'LEASE_LOST']).toContain(refusal.reason.code);
});

test('nor when the other one goes while that is asked', async () => {
  const { term } = await becomeMaster(meta, systemClock);
  const range: MetaStore['range'] = async (prefix) => {
    const found = await term.store.range(prefix);
    if (prefix === keys.placedrivers) await store.delete(keys.placedriver('pd2'));
    return found;
  };
  const asked = placedriverRequests({ ...term, store: hooked(term.store, { range }) });
  await expect(asked.banPlacedriver('pd1', true)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await store.range(keys.banned)).items).toEqual([]);
});

test('says whom it does not know', async () => {
  await expect(ban('pd1', 'pd9', true)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'no placedriver pd9 is alive; there are pd1 and pd2',
  });
  await expect(ban('pd1', 'pd2', false)).rejects.toMatchObject({
    code: 'NOT_FOUND',
    message: 'placedriver pd2 is not banned; of those that are, there is none',
  });
  await store.delete(keys.placedriver('pd2'));
  await expect(ban('pd1', 'pd1', true)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'pd1 is the last placedriver that may be master: start another one first',
  });
});
