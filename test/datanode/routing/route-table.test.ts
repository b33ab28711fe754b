import { beforeEach, expect, test } from 'vitest';
import { MutableRouteTable } from '../../../src/datanode/routing/route-table.ts';
import type { NodeRecord } from '../../../src/meta/schema.ts';
import { partitionRecord } from './records.ts';

const node = (name: string): NodeRecord => ({
  version: 1,
  node: name,
  incarnation: 'i',
  bootId: 'b',
  host: name,
  transportPort: 1,
  gatewayPort: 2,
  clusterPort: 3,
  httpPort: 4,
  tags: {},
});

let routes: MutableRouteTable;
beforeEach(() => {
  routes = new MutableRouteTable();
  routes.setPartitions([partitionRecord(1, 3), partitionRecord(0, 3), partitionRecord(2, 3)]);
});

test('every slot has its partition, partitions come by number', () => {
  expect(routes.partitions('default')!.map(({ partition }) => partition)).toEqual([0, 1, 2]);
  for (let slot = 0; slot < 16_384; slot++) {
    const record = routes.partitions('default')![routes.partitionOfSlot('default', slot)!]!;
    expect(slot >= record.firstSlot && slot <= record.lastSlot).toBe(true);
  }
  expect(routes.partitionOfSlot('nowhere', 0)).toBeUndefined();
  expect(routes.hasNamespace('nowhere')).toBe(false);
  expect(routes.namespaces()).toEqual(['default']);
});

test('what is told of one namespace makes nothing of the others anew', () => {
  const others = [partitionRecord(0, 2), partitionRecord(1, 2)];
  routes.setPartitions(others);
  const before = routes.partitions('default');
  const more = { ...partitionRecord(0, 1), namespace: 'more', group: 99 };
  routes.setPartitions([...others, more]);
  expect(routes.partitions('default')).toBe(before);
  expect(routes.partitionOfSlot('more', 16_383)).toBe(0);
  routes.setPartitions([others[0]!, { ...others[1]!, epoch: 2 }, more]);
  expect(routes.partitions('default')![1]!.epoch).toBe(2);
  expect(routes.partitionOfSlot('default', 16_383)).toBe(1);
});

test('a thousand namespaces whose partitions have the same slots share where these lie', () => {
  const before = process.memoryUsage().arrayBuffers;
  const records = Array.from({ length: 1_000 }, (_, at) => ({
    ...partitionRecord(0, 1),
    namespace: `n${at}`,
    group: at,
  }));
  for (let count = 250; count <= records.length; count += 250) {
    routes.setPartitions(records.slice(0, count));
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * 1_048_576);
  expect(routes.partitionOfSlot('n999', 16_383)).toBe(0);
});

test('news of an older term is ignored', () => {
  routes.setLeader(10, 'a', 5);
  routes.setLeader(10, 'b', 4);
  expect(routes.leader('default', 0)).toEqual({ node: 'a', term: 5 });
  routes.setLeader(10, 'b', 6);
  expect(routes.leader('default', 0)).toEqual({ node: 'b', term: 6 });
});

test('a withdrawn leader is remembered as the last; only the same hint withdraws it', () => {
  routes.setLeader(10, 'a', 5);
  routes.withdrawLeader(10, { node: 'a', term: 4 });
  expect(routes.leader('default', 0)).toBeDefined();
  routes.withdrawLeader(10, { node: 'a', term: 5 });
  expect(routes.leader('default', 0)).toBeUndefined();
  expect(routes.lastLeader('default', 0)).toEqual({ node: 'a', term: 5 });
  routes.setLeader(10, 'a', 5);
  expect(routes.leader('default', 0)).toEqual({ node: 'a', term: 5 });
});

test('a leader that resigned is none until one of a newer term is known', () => {
  routes.setLeader(10, 'a', 5);
  routes.resignLeader(10, { node: 'a', term: 4 });
  expect(routes.leader('default', 0)).toEqual({ node: 'a', term: 5 });
  expect(routes.hasResigned('default', 0)).toBe(false);
  routes.resignLeader(10, { node: 'a', term: 5 });
  routes.setLeader(10, 'a', 5);
  expect(routes.leader('default', 0)).toBeUndefined();
  expect(routes.hasResigned('default', 0)).toBe(true);
  expect(routes.lastLeader('default', 0)).toEqual({ node: 'a', term: 5 });
  routes.setLeader(10, 'b', 6);
  expect(routes.leader('default', 0)).toEqual({ node: 'b', term: 6 });
  expect(routes.hasResigned('default', 0)).toBe(false);
  routes.resignLeader(11, { node: 'a', term: 3 });
  expect(routes.hasResigned('default', 1)).toBe(true);
});

test('listeners hear of changes until they have heard enough', () => {
  let heard = 0;
  const undo = routes.onLeader(10, () => heard++);
  routes.setLeader(10, 'a', 1);
  routes.setLeader(10, 'a', 1);
  routes.setLeader(11, 'a', 1);
  expect(heard).toBe(1);
  routes.withdrawLeader(10, { node: 'a', term: 1 });
  routes.setLeader(10, 'a', 1);
  expect(heard).toBe(2);
  undo();
  routes.setLeader(10, 'b', 2);
  expect(heard).toBe(2);
});

test('leaders survive a new table; nodes that went away stay known', () => {
  routes.setLeader(10, 'a', 1);
  routes.setPartitions([partitionRecord(0, 1)]);
  expect(routes.leader('default', 0)).toEqual({ node: 'a', term: 1 });
  const [a, b] = [node('a'), node('b')];
  routes.setNodes(
    new Map([
      ['a', a],
      ['b', b],
    ]),
  );
  routes.setNodes(
    new Map([['a', a]]),
    new Map([
      ['a', a],
      ['b', b],
    ]),
  );
  expect([...routes.nodes().keys()]).toEqual(['a']);
  expect(routes.knownNodes().get('b')).toEqual({ record: b, alive: false });
  // the cluster has forgotten it
  routes.setNodes(new Map([['a', a]]), new Map([['a', a]]));
  expect([...routes.knownNodes().keys()]).toEqual(['a']);
});
