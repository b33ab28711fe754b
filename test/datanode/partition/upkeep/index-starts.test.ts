import { expect, test } from 'vitest';
import { expiryRange } from '../../../../src/datanode/encoding/expiry/expiry.ts';
import { encodeExpiryKey } from '../../../../src/datanode/encoding/records/key.ts';
import { IndexStarts } from '../../../../src/datanode/partition/upkeep/index-starts.ts';

const ALL = expiryRange('keys', 0, 1_000);
const at = (deadlineMs: number, key = 'k') => encodeExpiryKey(deadlineMs, Buffer.from(key));

/** What is known once somebody has found `first` at the beginning. */
function found(first: Buffer | undefined): IndexStarts {
  const starts = new IndexStarts();
  starts.end(starts.begin('keys', ALL).look, first);
  return starts;
}

const startOf = (starts: IndexStarts, range = ALL) => starts.begin('keys', range).range.gte;

test('a look begins at the first entry that the last one found', () => {
  const starts = found(at(500));
  expect(startOf(starts)).toEqual(at(500));
  expect(starts.begin('keys', ALL).range.lt).toEqual(ALL.lt);
  expect(starts.begin('fields', expiryRange('fields', 0, 1_000)).range.gte[1]).toBe(0);
});

test('a range behind it is left as it is', () => {
  const later = expiryRange('keys', 501, 1_000);
  expect(startOf(found(at(500)), later)).toEqual(later.gte);
});

test('a look that found nothing, or failed, says nothing', () => {
  expect(startOf(found(undefined))).toEqual(ALL.gte);
});

test.each([
  ['before it', 499, ALL.gte],
  ['at its very millisecond', 500, ALL.gte],
  ['behind it', 501, at(500)],
])('an entry put %s', (_name, deadlineMs, expected) => {
  const starts = found(at(500));
  starts.written(deadlineMs);
  expect(startOf(starts)).toEqual(expected);
});

test.each([
  ['before what it finds', 499, ALL.gte],
  ['behind what it finds', 501, at(500)],
])('an entry put %s while somebody looks', (_name, deadlineMs, expected) => {
  const starts = new IndexStarts();
  const { look } = starts.begin('keys', ALL);
  starts.written(deadlineMs);
  starts.end(look, at(500));
  expect(startOf(starts)).toEqual(expected);
});

test('what is forgotten is not told by a look that began before', () => {
  const starts = found(at(500));
  const { look } = starts.begin('keys', ALL);
  starts.forget();
  starts.end(look, at(500));
  expect(startOf(starts)).toEqual(ALL.gte);
});
