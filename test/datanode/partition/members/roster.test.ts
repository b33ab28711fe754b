import { describe, expect, test } from 'vitest';
import type { Origin } from '../../../../src/datanode/partition/host/replica-notes.ts';
import { newOrigins, planRoster } from '../../../../src/datanode/partition/members/roster.ts';
import type { DeletedRecord, Membership, PartitionRecord } from '../../../../src/meta/schema.ts';

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

  test('nothing before the members without it are confirmed', () => {
    const unconfirmed = { ...membership(2, [1, 2, 4]), joint: true };
    expect(roster('n3', [3], [moved], [[1, unconfirmed]])).toEqual({ run: ['1:3'], retired: [] });
    expect(roster('n9', [9], [moved], [[1, unconfirmed]])).toEqual({ run: [], retired: [] });
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

describe('a group that was given up', () => {
  const own = [on(1, 'n1')];
  const lost = [on(2, 'n2'), on(3, 'n3')];
  const rebuilt: PartitionRecord = {
    ...record(2, own, 2),
    ...{ partition: 0, birth: own, rebuilt: { epoch: 2, formerGroups: [1], lost } },
  };
  const led: [number, Membership][] = [[2, membership(2, [1])]];

  test('goes on in its survivor, which belongs to the new group from then on', () => {
    expect(roster('n1', [1], [rebuilt])).toEqual({ run: ['2:1'], retired: [] });
    const known = new Map([[1, { group: 1, epoch: 1 }]]);
    const planned = planRoster({
      ...{ node: 'n1', incarnation: 'i', records: [rebuilt], held: [1] },
      ...{ memberships: new Map(), deletions: [], origins: known },
    });
    expect([...newOrigins(planned, [1], known)]).toEqual([[1, { group: 2, epoch: 2 }]]);
    expect([...planned.former]).toEqual([1]);
    const gone: [number, Origin][] = [[1, { group: 2, epoch: 2 }]];
    expect(roster('n1', [1], [rebuilt], led, 'i', gone)).toEqual({ run: ['2:1'], retired: [] });
    // an older table does not bring it back
    expect(roster('n1', [1], [record(1)], [], 'i', gone)).toEqual({ run: [], retired: [] });
  });

  test('runs nowhere else, and is destroyed there when the new group has a leader', () => {
    expect(roster('n2', [2], [rebuilt])).toEqual({ run: [], retired: [] });
    expect(roster('n2', [2], [rebuilt], [[2, membership(1, [1])]]).retired).toEqual([]);
    expect(roster('n2', [2], [rebuilt], led)).toEqual({ run: [], retired: [2] });
    const filled = { ...rebuilt, replicas: [...own, on(4, 'n2')], epoch: 3 };
    const later: [number, Membership][] = [[2, membership(3, [1], [4])]];
    expect(roster('n2', [2], [filled], later)).toEqual({ run: ['2:4'], retired: [2] });
  });

  test('may be given up a second time, for another survivor', () => {
    const next: PartitionRecord = {
      ...record(3, [on(2, 'n2')], 3),
      ...{ partition: 0, birth: [on(2, 'n2')] },
      rebuilt: { epoch: 3, formerGroups: [1, 2], lost: [on(1, 'n1'), on(3, 'n3')] },
    };
    expect(roster('n2', [2], [next])).toEqual({ run: ['3:2'], retired: [] });
    const second: [number, Origin][] = [[1, { group: 2, epoch: 2 }]];
    const now: [number, Membership][] = [[3, membership(3, [2])]];
    expect(roster('n1', [1], [next], now, 'i', second)).toEqual({ run: [], retired: [1] });
  });

  test('runs nowhere when a peer says so, whatever the table says', () => {
    const known = new Map([[2, { group: 1, epoch: 1 }]]);
    const planned = planRoster({
      ...{ node: 'n2', incarnation: 'i', records: [record(1)], held: [2], origins: known },
      ...{ memberships: new Map(), deletions: [], denied: new Set([1]) },
    });
    expect([[...planned.run], planned.retired]).toEqual([[], []]);
  });
});
