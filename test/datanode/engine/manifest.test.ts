import { expect, test } from 'vitest';
import { applyEdit, emptyManifest } from '../../../src/datanode/engine/manifest.ts';

const text = (value: string) => [value.length, ...Buffer.from(value)];
const edit = (...bytes: (number | readonly number[])[]) => Buffer.from(bytes.flat());
const comparator = [1, ...text('leveldb.BytewiseComparator')];

test('the last value of a field counts, and tables come and go', () => {
  const state = emptyManifest();
  expect(applyEdit(state, edit(comparator, [2, 5], [9, 0], [3, 7], [4, 0xac, 0x02]))).toBe(
    undefined,
  );
  const table = (level: number, number: number, size: number) => [
    ...[7, level, number, size],
    ...text('first000'),
    ...text('last0000'),
  ];
  expect(applyEdit(state, edit(table(0, 6, 90), table(2, 8, 50), [5, 1], text('pointer')))).toBe(
    undefined,
  );
  expect(state.tables).toEqual(
    new Map([
      [6, 90],
      [8, 50],
    ]),
  );
  // a table moved to another level is deleted and added in one edit
  expect(applyEdit(state, edit([2, 9], [6, 0, 6], table(1, 6, 90), [6, 2, 8]))).toBe(undefined);
  expect(state).toEqual({
    logNumber: 9,
    nextFileNumber: 7,
    lastSequence: 300,
    tables: new Map([[6, 90]]),
  });
});

test('an edit that is not LevelDB’s is refused with the reason', () => {
  const reasonOf = (bytes: Buffer) => applyEdit(emptyManifest(), bytes);
  expect(reasonOf(edit([1], text('other.Comparator')))).toContain('other.Comparator');
  expect(reasonOf(edit([8, 1]))).toBe('unknown field 8');
  expect(reasonOf(edit([9, 1]))).toContain('previous log');
  expect(reasonOf(edit([6, 7, 1]))).toBe('level 7');
  expect(reasonOf(edit([2]))).toBe('a field ends early');
  expect(reasonOf(edit([1, 200, 1, 65]))).toBe('a field ends early');
  expect(reasonOf(edit([2, ...Array(10).fill(0xff)]))).toContain('beyond');
});
