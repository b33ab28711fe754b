import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../src/datanode/partition/replica-notes.ts';
import { planRoster } from '../../../src/datanode/partition/roster.ts';
import type { DeletedRecord, Membership, PartitionRecord } from '../../../src/meta/schema.ts';

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
  origins: [number, Origin][] = held.map((id) => [id, { group: 1, epoch: 1 }]),
  deletions: DeletedRecord[] = [],
) {
  const known = { memberships: new Map(memberships), origins: new Map(origins) };
  const input = { node, incarnation, records, held, deletions, ...known };
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

  test('nothing by a table older than the replica', () => {
    const known: [number, Membership] = [1, membership(1, [1, 2, 3])];
    const newer: [number, Origin] = [99, { group: 1, epoch: 2 }];
    expect(roster('n9', [99], [record(1)], [known], 'i', [newer])).toEqual({
      run: [],
      retired: [],
    });
    const served: [number, Membership] = [1, membership(3, [1, 2, 3])];
    expect(roster('n9', [99], [record(3)], [served], 'i', [newer]).retired).toEqual([99]);
  });

  test('nothing of a group that the table does not have, or whose origin is not known', () => {
    const served: [number, Membership] = [1, membership(3, [1, 2, 3])];
    const elsewhere: [number, Origin] = [99, { group: 7, epoch: 1 }];
    expect(roster('n9', [99], [record(3)], [served], 'i', [elsewhere]).retired).toEqual([]);
    expect(roster('n9', [99], [record(3)], [served], 'i', []).retired).toEqual([]);
  });

  test('nothing while the table has not come', () => {
    expect(roster('n3', [3], [])).toEqual({ run: [], retired: [] });
  });

  test('whatever is of a deleted group, though no table has it', () => {
    const deleted = (firstGroup: number, groups: number): DeletedRecord => {
      return { version: 1, namespace: 'db1', firstGroup, groups, deletedMs: 1 };
    };
    const origins: [number, Origin][] = [4, 5, 6, 7].map((group) => [group, { group, epoch: 9 }]);
    const held = [4, 5, 6, 7, 8];
    const run = (...deletions: DeletedRecord[]) =>
      roster('n3', held, [], [], 'i', origins, deletions).retired;
    expect(run()).toEqual([]);
    expect(run(deleted(5, 2))).toEqual([5, 6]);
    expect(run(deleted(4, 1), deleted(7, 100))).toEqual([4, 7]);
    // what the table says of it does not count any more
    const stale = roster('n3', [3], [record(1)], [], 'i', undefined, [deleted(1, 1)]);
    expect(stale).toEqual({ run: [], retired: [3] });
  });
});
