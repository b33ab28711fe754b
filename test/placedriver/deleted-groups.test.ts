import { expect, test } from 'vitest';
import { decodeRecord, recordKinds } from '../../src/meta/records.ts';
import type { DeletedRecord, PartitionRecord } from '../../src/meta/schema.ts';
import type { MetaOperation } from '../../src/meta/store.ts';
import { adjoining, deletionsOf } from '../../src/placedriver/deleted-groups.ts';

const record = (firstGroup: number, groups: number): DeletedRecord => ({
  ...{ version: 1, namespace: 'db1', firstGroup, groups, deletedMs: 1 },
});

/** First group and how many. */
const told = (operations: readonly MetaOperation[]) =>
  operations.map((operation) => {
    if (operation.type !== 'put') throw new Error('a deletion is told by a record');
    const { firstGroup, groups } = decodeRecord(
      recordKinds.deleted,
      operation.key,
      operation.value,
    );
    return [firstGroup, groups];
  });

test('with a group go those that were given up for it; what is told already is not told again', () => {
  const rebuilt = { epoch: 2, formerGroups: [7, 5], lost: [] };
  const of = (more: Partial<PartitionRecord>) => more as PartitionRecord;
  const partitions = [of({ group: 10 }), of({ group: 6, rebuilt }), of({ group: 11 })];
  expect(told(deletionsOf('db1', partitions, 1))).toEqual([
    [5, 3],
    [10, 2],
  ]);
  expect(told(deletionsOf('db1', partitions, 1, [record(6, 1), record(11, 9)]))).toEqual([
    [5, 1],
    [7, 1],
    [10, 1],
  ]);
});

test('no more records become one than one transaction takes', () => {
  const all = [record(9, 1), record(1, 2), record(3, 1), record(4, 4), record(20, 1)];
  const runs = (most: number) =>
    adjoining(all, most).map((run) => run.map(({ firstGroup }) => firstGroup));
  expect(runs(3)).toEqual([[1, 3, 4]]);
  expect(runs(2)).toEqual([[1, 3]]);
  const ten = Array.from({ length: 10 }, (_, at) => record(at, 1));
  expect(adjoining(ten, 4).map(({ length }) => length)).toEqual([4, 4, 2]);
});
