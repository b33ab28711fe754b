import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { type Logger, silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { keys, type NamespaceRecord, type PartitionRecord } from '../../../src/meta/schema.ts';
import type { MetaItem, MetaStore } from '../../../src/meta/store.ts';
import { createDefaultNamespace } from '../../../src/placedriver/chores/default-namespace.ts';
import { createNamespace } from '../../../src/placedriver/namespaces.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { defaultPlacementSettings, type MasterTerm } from '../../../src/placedriver/term.ts';
import { nodeRecord } from '../http/api.ts';

let store: MetaStore;

beforeEach(() => {
  store = new MemoryMeta({ clock: systemClock }).connect();
});

afterEach(() => store.close());

const scene = async (logger: Logger = silentLogger) => {
  const lease = await store.grantLease(60_000);
  const leadership = await store.campaign(keys.election, 'pd1', lease);
  const picture = new Picture();
  const term: MasterTerm = {
    store,
    clock: systemClock,
    random: seededRandom(1),
    logger,
    settings: defaultPlacementSettings,
    leadership,
    fence: { key: leadership.key, createRevision: leadership.revision },
    picture,
  };
  const chore = createDefaultNamespace({ nodes: 2, partitions: 4, replicas: 2 });
  const alive = (...nodes: string[]) =>
    picture.list(
      nodes.map((node) => {
        const value = JSON.stringify(nodeRecord(node));
        return { key: keys.node(node), value, createRevision: 1, modRevision: 1 };
      }),
    );
  return { term, chore, alive };
};

test('waits for its nodes, and makes nothing twice', async () => {
  const { term, chore, alive } = await scene();
  alive('n1');
  await chore(term);
  expect(await store.get(keys.namespace('default'))).toBeUndefined();
  alive('n1', 'n2');
  await chore(term);
  expect((await store.range(keys.partitions)).items).toHaveLength(4);
  const made = await store.get(keys.namespace('default'));
  expect(made).toBeDefined();
  await chore(term); // the picture does not show it yet
  expect(await store.get(keys.namespace('default'))).toEqual(made);
});

test('partitions whose record was lost are not written over: the log says what to do', async () => {
  const errors: string[] = [];
  const logger: Logger = { ...silentLogger, error: (text) => errors.push(text) };
  const { term, chore, alive } = await scene(logger);
  alive('n1', 'n2');
  await chore(term);
  const record = (await store.get(keys.namespace('default')))!;
  const partitions = async () => (await store.range(keys.partitionsOf('default'))).items;
  const before = await partitions();
  expect(before).toHaveLength(4);
  await store.delete(record.key);
  await chore(term);
  await chore(term);
  expect(await store.get(record.key)).toBeUndefined();
  expect(await partitions()).toEqual(before);
  expect(errors).toEqual([expect.stringContaining(`write ${record.key} into the metadata store`)]);
  // one of the two things that the log tells
  const { partitions: count, replicas, hash } = JSON.parse(record.value) as NamespaceRecord;
  await createNamespace(term, { name: 'default', partitions: count, replicas, hash });
  await chore(term);
  expect(errors).toHaveLength(1);
  const groups = (items: readonly MetaItem[]) =>
    items.map(({ value }) => (JSON.parse(value) as PartitionRecord).group);
  expect(groups(await partitions())).toEqual(groups(before).map((group) => group + 4));
});
