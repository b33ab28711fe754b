import { expect, test } from 'vitest';
import { initialShare } from '../../../src/common/hash.ts';
import { ClusterView } from '../../../src/datanode/coordinator/cluster-view.ts';
import {
  type DeletedRecord,
  encodeRecord,
  keys,
  type NamespaceRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaItem } from '../../../src/meta/store.ts';

const item = (key: string, record: { readonly version: number }): MetaItem => {
  return { key, value: encodeRecord(record), createRevision: 1, modRevision: 1 };
};

function namespace(more: Partial<NamespaceRecord>): MetaItem {
  const record: NamespaceRecord = {
    ...{ version: 1, name: 'm', kind: 'redis', hash: 'slots', partitions: 2, replicas: 1 },
    ...{ expiry: 'consistent', ready: true },
    ...more,
  };
  return item(keys.namespace('m'), record);
}

function partition(hash: 'slots' | 'murmur3', number: number, of = 2): MetaItem {
  const replicas = [{ replica: number + 1, node: 'n1', incarnation: 'i' }];
  const record: PartitionRecord = {
    ...{ version: 1, namespace: 'm', partition: number, group: number + 1 },
    ...initialShare(hash, number, of),
    ...{ birth: replicas, replicas, epoch: 1, fence: 1 },
  };
  return item(keys.partition('m', number), record);
}

const deleted: DeletedRecord = {
  ...{ version: 1, namespace: 'm', firstGroup: 1, groups: 2, deletedMs: 1 },
};
const deletion = item(keys.deletion(1), deleted);

test('a deletion takes the namespace away, and is kept with the picture', () => {
  const view = new ClusterView();
  view.list([namespace({}), partition('slots', 0), partition('slots', 1)]);
  expect(view.partitions()).toHaveLength(2);
  const change = view.apply([
    { type: 'put', item: namespace({ ready: false, deleting: true }) },
    { type: 'put', item: deletion },
  ]);
  expect(change.table).toBe(true);
  expect(view.partitions()).toEqual([]);
  expect(view.deletions()).toEqual([deleted]);
  const later = ClusterView.fromImage(JSON.parse(JSON.stringify(view.image())));
  expect(later.deletions()).toEqual([deleted]);
  expect(later.partitions()).toEqual([]);
  const { deletions: _, ...older } = view.image();
  expect(ClusterView.fromImage(older).deletions()).toEqual([]);
});

test('what was deleted while nobody watched is in the next list', () => {
  const view = new ClusterView();
  view.list([namespace({}), partition('slots', 0), partition('slots', 1)]);
  view.list([deletion]);
  expect(view.namespaces()).toEqual([]);
  expect(view.partitions()).toEqual([]);
  expect(view.deletions()).toEqual([deleted]);
});

const node = (name: string): MetaItem => {
  const ports = { transportPort: 1, gatewayPort: 2, clusterPort: 3, httpPort: 4 };
  const record = { version: 1, node: name, incarnation: 'i', bootId: 'b', host: 'h', tags: {} };
  return item(keys.node(name), { ...record, ...ports } as { version: number });
};
const state = (name: string) =>
  item(keys.nodeState(name), { version: 1, node: name, firstSeenMs: 1 } as { version: number });
const gone = (key: string) => ({ type: 'delete' as const, key, modRevision: 2 });

test('a node that is away keeps its address until the cluster has forgotten it', () => {
  const view = new ClusterView();
  const table = [namespace({}), partition('slots', 0), partition('slots', 1)];
  const known = () => [...view.addresses().keys()];
  view.list([...table, node('n1'), state('n1'), node('n2'), state('n2'), node('n3'), state('n3')]);
  view.apply([gone(keys.node('n1')), gone(keys.node('n2')), gone(keys.node('n3'))]);
  expect(known()).toEqual(['n1', 'n2', 'n3']);
  expect(view.apply([gone(keys.nodeState('n2'))])).toMatchObject({ nodes: true, kept: true });
  expect(known()).toEqual(['n1', 'n3']);
  // whoever is to hold something is needed, whatever became of its state
  expect(view.apply([gone(keys.nodeState('n1'))]).nodes).toBe(false);
  expect(known()).toEqual(['n1', 'n3']);
  expect(known()).toEqual(view.image().nodes.map((record) => record.node));
  // one that lives has no state until a master has seen it
  view.apply([{ type: 'put', item: node('n4') }]);
  view.list([...table, node('n4')]);
  expect(known()).toEqual(['n1', 'n4']);
});

test('a table that deals keys out in another way than its namespace is not taken over', () => {
  const problems: string[] = [];
  const view = new ClusterView((problem) => problems.push(problem));
  const hash = 'murmur3';
  view.list([namespace({ hash }), partition(hash, 0), partition(hash, 1)]);
  expect(view.partitions()).toHaveLength(2);
  for (const wrong of [partition('slots', 1), partition(hash, 1, 3)]) {
    const other = new ClusterView((problem) => problems.push(problem));
    other.list([namespace({ hash }), partition(hash, 0), wrong]);
    expect(other.partitions()).toEqual([]);
    expect(problems.pop()).toMatch(/partition 1 deals keys out in another way/);
  }
  const slots = new ClusterView((problem) => problems.push(problem));
  slots.list([namespace({}), partition('slots', 0), partition(hash, 1)]);
  expect(slots.partitions()).toEqual([]);
});
