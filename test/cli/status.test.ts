import { expect, test } from 'vitest';
import { mergePartitions, type NodePartition } from '../../src/cli/status.ts';

const members = [
  { node: 'n1', id: 1, match: 10 },
  { node: 'n2', id: 2, match: 8 },
];

const report = (node: string, own: Partial<NodePartition>): NodePartition => ({
  namespace: 'default',
  partition: 0,
  node,
  replica: Number(node.slice(1)),
  role: 'follower',
  leader: 'n1',
  term: 3,
  commit: 10,
  applied: 10,
  lastIndex: 10,
  state: 'running',
  members: members.map((member) => ({ ...member, match: 0 })),
  ...own,
});

test('one line per partition, seen by its leader', () => {
  const [line] = mergePartitions([
    report('n2', { applied: 7, commit: 8 }),
    report('n1', { role: 'leader', members }),
  ]);
  expect(line).toEqual({
    namespace: 'default',
    partition: 0,
    leader: 'n1',
    replicas: [
      { node: 'n1', id: 1, role: 'leader', match: 10, state: 'running' },
      { node: 'n2', id: 2, role: 'follower', match: 8, state: 'running' },
    ],
    term: 3,
    commit: 10,
    applied: 10,
    lag: 3,
  });
});

test('a deposed leader does not count, and a silent replica shows', () => {
  const [line] = mergePartitions([report('n1', { role: 'leader', term: 2 }), report('n2', {})]);
  expect(line).toMatchObject({ leader: null, term: 3 });
  const [alone] = mergePartitions([report('n1', { role: 'leader', members })]);
  expect(alone!.replicas[1]).toMatchObject({ node: 'n2', role: 'unknown', state: 'unreachable' });
});

test('partitions come in order', () => {
  const lines = mergePartitions([10, 2, 1].map((partition) => report('n1', { partition })));
  expect(lines.map(({ partition }) => partition)).toEqual([1, 2, 10]);
});
