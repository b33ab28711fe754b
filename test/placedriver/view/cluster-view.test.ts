import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { ClusterView } from '../../../src/placedriver/view/cluster-view.ts';
import { leaderRecord, namespaceRecord, partitionRecord } from '../http/api.ts';

const meta = new MemoryMeta({ clock: systemClock });
let store: MetaStore;
let view: ClusterView | undefined;

beforeEach(async () => {
  store = meta.connect();
  const record = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
  await store.put(keys.namespace('default'), encodeRecord(namespaceRecord('default')));
  await store.put(keys.partition('default', 0), encodeRecord(record));
  await store.put(keys.leader('default', 0), encodeRecord(leaderRecord(record)));
});

afterEach(() => view?.close());

function look(through: Partial<MetaStore> = {}): ClusterView {
  const client = meta.connect();
  const bound = new Proxy(client, {
    get: (target, name) => {
      const own = through[name as keyof MetaStore] ?? target[name as keyof MetaStore];
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
  view = new ClusterView({ store: bound, clock: systemClock, logger: silentLogger });
  view.start();
  return view;
}

test('what is read past the view holds every change up to the epoch it is told with', async () => {
  const moved = partitionRecord('default', 0, ['n1', 'n2', 'n4'], { epoch: 2 });
  let changed = false;
  let partitionsRead = () => {};
  const read = new Promise<void>((resolve) => {
    partitionsRead = resolve;
  });
  const client = meta.connect();
  const seen = look({
    // the table changes after it was read, and a leader before leaders are
    async range(prefix) {
      if (prefix === keys.leadersOf('default')) await read;
      const answer = await client.range(prefix);
      if (prefix === keys.partitionsOf('default') && !changed) {
        changed = true;
        await store.put(keys.partition('default', 0), encodeRecord(moved));
        await store.put(keys.leader('default', 0), encodeRecord(leaderRecord(moved, 'n2')));
        partitionsRead();
      }
      return answer;
    },
  });
  const { picture, epoch, revision } = await seen.fresh('default');
  expect(changed).toBe(true);
  expect(picture.partitions()[0]!.record.epoch).toBe(2);
  const newest = await store.get(keys.leader('default', 0));
  expect(epoch).toBe(newest!.modRevision);
  expect(revision).toBeGreaterThanOrEqual(epoch);
});

test('a leader that changes and changes back at once has changed', async () => {
  const seen = look();
  await expect.poll(() => seen.ready).toBe(true);
  const record = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
  const key = keys.leader('default', 0);
  const put = (node: string) =>
    ({ type: 'put', key, value: encodeRecord(leaderRecord(record, node)) }) as const;
  const before = seen.epochOf('default');
  await Promise.all([store.transaction([], [put('n2')]), store.transaction([], [put('n1')])]);
  await expect.poll(() => seen.revision).toBe(meta.revision);
  expect(seen.epochOf('default')).toBe(meta.revision);
  expect(seen.epochOf('default')).toBeGreaterThan(before);
});

test('what was read once is not read again, whoever lists it', async () => {
  const seen = look();
  await expect.poll(() => seen.ready).toBe(true);
  const { items } = await store.range(keys.root);
  const of = (picture: Picture) => picture.partitions().map(({ record }) => record);
  const [own, other] = [new Picture(), new Picture(undefined, (key) => seen.kept(key))];
  for (const picture of [own, other]) picture.list(items);
  expect(of(other)[0]).toBe(of(seen.picture)[0]);
  expect(of(own)[0]).not.toBe(of(seen.picture)[0]);
  const [before] = of(own);
  own.list(items);
  expect(of(own)[0]).toBe(before);
  const record = partitionRecord('default', 0, ['n1', 'n2', 'n4'], { epoch: 2 });
  await store.put(keys.partition('default', 0), encodeRecord(record));
  other.list((await store.range(keys.root)).items);
  expect(of(other)[0]).toEqual(record);
});

test('a record of the cluster that cannot be read is told, and keeps nothing from being seen', async () => {
  await store.put(keys.cluster, '{"version":1}');
  const seen = look();
  await expect.poll(() => seen.ready).toBe(true);
  expect(seen.clusterId).toBeUndefined();
  expect(seen.picture.partitions()).toHaveLength(1);
  const cluster = { version: 1, clusterId: '0123456789abcdef', createdMs: 1 };
  await store.put(keys.cluster, encodeRecord(cluster));
  await expect.poll(() => seen.clusterId).toBe('0123456789abcdef');
  await store.put(keys.cluster, 'rubbish');
  await store.put(keys.node('n9'), '{}');
  await expect.poll(() => seen.revision).toBe(meta.revision);
  expect(seen.clusterId).toBe('0123456789abcdef');
});
