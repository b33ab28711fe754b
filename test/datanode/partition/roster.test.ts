import { describe, expect, test } from 'vitest';
import { planRoster } from '../../../src/datanode/partition/roster.ts';
import type { Membership, PartitionRecord } from '../../../src/meta/schema.ts';

const on = (replica: number, node: string, incarnation = 'i') => ({ replica, node, incarnation });
const birth = [on(1, 'n1'), on(2, 'n2'), on(3, 'n3')];

function record(epoch: number, replicas = birth, group = 1): PartitionRecord {
  const place = { namespace: 'default', partition: group - 1, group, firstSlot: 0, lastSlot: 9 };
  return { version: 1, ...place, birth, replicas, epoch, fence: 1 };
}

function membership(epoch: number, voters: number[], learners: number[] = []): Membership {
  return { epoch, voters, learners, joint: false };
}

function roster(
  node: string,
  held: number[],
  records: PartitionRecord[],
  memberships: [number, Membership][] = [],
  incarnation = 'i',
) {
  const input = { node, incarnation, records, memberships: new Map(memberships), held };
  const { run, retired } = planRoster(input);
  return { run: [...run].map(([group, { id }]) => `${group}:${id}`), retired };
}

describe('runs', () => {
  test('what the record names, whether the log holds it or not', () => {
    expect(roster('n3', [], [record(1)])).toEqual({ run: ['1:3'], retired: [] });
    expect(roster('n3', [3], [record(1)])).toEqual({ run: ['1:3'], retired: [] });
  });

  test('nothing under the id of another incarnation', () => {
    expect(roster('n3', [], [record(1)], [], 'j')).toEqual({ run: [], retired: [] });
  });

  test('what its group still counts on, though it is to go', () => {
    const moved = record(2, [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')]);
    expect(roster('n3', [3], [moved])).toEqual({ run: ['1:3'], retired: [] });
    const stillThere = membership(1, [1, 2, 3]);
    expect(roster('n3', [3], [moved], [[1, stillThere]])).toEqual({ run: ['1:3'], retired: [] });
    const joint = { ...membership(2, [1, 2, 3, 4]), joint: true };
    expect(roster('n3', [3], [moved], [[1, joint]])).toEqual({ run: ['1:3'], retired: [] });
  });
});

describe('retires', () => {
  const moved = record(2, [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')]);

  test('what the leader’s newest members leave out', () => {
    const without = membership(2, [1, 2, 4]);
    expect(roster('n3', [3], [moved], [[1, without]])).toEqual({ run: [], retired: [3] });
  });

  test('nothing by a report that serves an older record', () => {
    const newer = record(3, [on(1, 'n1'), on(2, 'n2'), on(5, 'n5')]);
    const report = membership(2, [1, 2, 3]);
    expect(roster('n4', [4], [newer], [[1, report]])).toEqual({ run: [], retired: [] });
  });

  test('a replica no record knows only when every group is settled', () => {
    const other = record(1, birth, 2);
    const known: [number, Membership] = [1, membership(2, [1, 2, 4])];
    expect(roster('n9', [99], [moved, other], [known]).retired).toEqual([]);
    const settled: [number, Membership] = [2, membership(1, [1, 2, 3])];
    expect(roster('n9', [99], [moved, other], [known, settled]).retired).toEqual([99]);
  });

  test('nothing while the table has not come', () => {
    expect(roster('n3', [3], [])).toEqual({ run: [], retired: [] });
  });
});
