import { expect, test } from 'vitest';
import { hasTags } from '../../../src/placedriver/balance/candidates.ts';
import { GroupStates } from '../../../src/placedriver/balance/group-states.ts';
import { Tables } from '../../../src/placedriver/balance/tables.ts';
import { ClusterModel } from './cluster-model.ts';

const NODES = 6;

function cluster(capacity?: number): ClusterModel {
  const model = new ClusterModel();
  for (let i = 1; i <= NODES; i++) {
    const tags = i <= 4 ? { disk: 'ssd', rack: 'r1' } : { disk: 'hdd' };
    model.join({ name: `n${i}`, tags, ...(capacity !== undefined && { capacity }) });
  }
  return model;
}

const loads = (model: ClusterModel) => [...model.nodes.keys()].map((name) => model.held(name));
const led = (model: ClusterModel) =>
  [...model.nodes.keys()].map(
    (name) => model.records.filter(({ replicas }) => replicas[0]!.node === name).length,
  );

test('a node has a tag by name, or with a value', () => {
  const [ssd] = [...cluster().nodes.values()];
  expect(hasTags(ssd!, undefined)).toBe(true);
  expect(hasTags(ssd!, ['rack', 'disk=ssd'])).toBe(true);
  expect(hasTags(ssd!, ['disk=hdd'])).toBe(false);
  expect(hasTags(ssd!, ['toString'])).toBe(false);
});

test('replicas leave nodes that lose the tags a namespace wants', () => {
  const model = cluster();
  const namespace = { name: 'default', partitions: 12, replicas: 3, tags: undefined };
  model.create(namespace as never);
  expect(model.settle(100)).toBe(true);
  expect(loads(model)).toEqual([6, 6, 6, 6, 6, 6]);
  Object.assign(model.namespaces[0]!, { tags: ['disk=ssd'] });
  expect(model.settle(100)).toBe(true);
  expect(loads(model)).toEqual([9, 9, 9, 9, 0, 0]);
  expect(model.moves).toBe(12);
  expect(led(model)).toEqual([3, 3, 3, 3, 0, 0]);
});

test('many small namespaces do not pile up on the same nodes, nor do their leaders', () => {
  const model = cluster();
  for (let i = 0; i < 12; i++) model.create({ name: `n${i}`, partitions: 1, replicas: 2 });
  expect(loads(model)).toEqual([12, 12, 0, 0, 0, 0]);
  expect(model.settle(200)).toBe(true);
  const held = loads(model);
  expect(Math.max(...held) - Math.min(...held)).toBeLessThanOrEqual(1);
  expect(Math.max(...led(model)) - Math.min(...led(model))).toBeLessThanOrEqual(1);
  expect(model.look()).toBe(0);
});

test('a node’s capacity is for all namespaces together', () => {
  const model = cluster(5);
  model.create({ name: 'a', partitions: 4, replicas: 3 });
  model.create({ name: 'b', partitions: 6, replicas: 3 });
  expect(model.settle(200)).toBe(true);
  for (const load of loads(model)) expect(load).toBeLessThanOrEqual(5);
  const view = model.view();
  const tables = new Tables(view, new GroupStates(view));
  expect([...model.nodes.keys()].every((name) => tables.isFull(name))).toBe(true);
});

test('with fewer nodes than replicas nothing moves', () => {
  const model = cluster();
  model.create({ name: 'default', partitions: 6, replicas: 5 });
  expect(model.settle(100)).toBe(true);
  const before = model.records.map(({ replicas }) => replicas.map(({ node }) => node).sort());
  model.drain('n1');
  model.drain('n2');
  expect(model.settle(100)).toBe(true);
  expect(model.moves).toBe(0);
  expect(model.records.map(({ replicas }) => replicas.map(({ node }) => node).sort())).toEqual(
    before,
  );
  expect(led(model).slice(0, 2)).toEqual([0, 0]);
});
