import { beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type NamespaceRecord,
  type PartitionRecord,
} from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import { createNamespace } from '../../src/placedriver/namespaces.ts';
import type { NamespaceSpec } from '../../src/placedriver/operator/operator.ts';
import { becomeMaster, hooked, register } from './master.ts';

const spec: NamespaceSpec = { name: 'db1', partitions: 3, replicas: 1, hash: 'slots' };
const key = keys.namespace('db1');
const others: NamespaceRecord = {
  ...{ version: 1, name: 'db1', kind: 'redis', hash: 'murmur3', expiry: 'consistent' },
  ...{ partitions: 1, replicas: 1, ready: false },
};

let meta: MemoryMeta;
let store: MetaStore;

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  await register(store, 'n1');
});

/** Makes db1; behind its read of `at` somebody else writes a record of that name. */
async function createBeside(at: string): Promise<void> {
  const { term } = await becomeMaster(meta, systemClock);
  const get: MetaStore['get'] = async (asked) => {
    const found = await term.store.get(asked);
    if (asked === at) await store.put(key, encodeRecord(others));
    return found;
  };
  await createNamespace({ ...term, store: hooked(term.store, { get }) }, spec);
}

test.each([
  ['since it was looked at is not claimed', key],
  ['once it is claimed is given up', keys.counters],
])('a name that somebody else takes %s', async (_, at) => {
  await expect(createBeside(at)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect((await store.get(key))?.value).toBe(encodeRecord(others));
  expect((await store.range(keys.partitionsOf('db1'))).items).toEqual([]);
});

test('what an earlier one of its name has left weighs on no node', async () => {
  await register(store, 'n2');
  const first = await becomeMaster(meta, systemClock);
  await createNamespace(first.term, { ...spec, partitions: 1 });
  const [item] = (await store.range(keys.partitionsOf('db1'))).items;
  const holder = (value: string) => (JSON.parse(value) as PartitionRecord).replicas[0]?.node;
  const node = holder(item!.value);
  await store.delete(key);
  const { term } = await becomeMaster(meta, systemClock);
  await createNamespace(term, { ...spec, partitions: 1 });
  const [again] = (await store.range(keys.partitionsOf('db1'))).items;
  expect(holder(again!.value)).toBe(node);
});
