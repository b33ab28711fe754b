/** What the tables of `kvorum nodes` and `kvorum partitions` say of a state. */
import { expect, test } from 'vitest';
import { partitionState } from '../../../src/cli/admin/namespaces.ts';
import { nodeState } from '../../../src/cli/admin/nodes.ts';
import type { NodeAnswer, PartitionAnswer } from '../../../src/cli/admin/shapes.ts';

const partition: PartitionAnswer = {
  ...{ namespace: 'default', partition: 0, epoch: 1, wanted: [], settled: true },
  leader: { node: 'n1', term: 2 },
  actual: { voters: [1, 2, 3], learners: [], joint: false },
};

test('a partition with replicas that stopped says where they are', () => {
  expect(partitionState(partition)).toBe('settled');
  const stopped = [
    { node: 'n2', replica: 2 },
    { node: 'n3', replica: 3 },
  ];
  expect(partitionState({ ...partition, stopped })).toBe('settled, stopped on n2 n3');
  const lost = { ...partition, leader: null, settled: false, stopped };
  expect(partitionState(lost)).toBe('no leader, stopped on n2 n3');
});

test('a node says how many of its replicas have stopped', () => {
  const node: NodeAnswer = {
    ...{ name: 'n1', alive: true, lostSinceMs: null, replicas: 3, leaders: 1, draining: null },
  };
  expect(nodeState(node, 0)).toBe('alive');
  expect(nodeState({ ...node, stopped: 0 }, 0)).toBe('alive');
  expect(nodeState({ ...node, stopped: 2 }, 0)).toBe('alive, 2 stopped');
});
