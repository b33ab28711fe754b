/** What a master knows that it has written and has not been told yet, and what it cannot read. */
import { expect, test } from 'vitest';
import { encodeRecord, keys } from '../../src/meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../src/meta/store.ts';
import { Picture } from '../../src/placedriver/picture.ts';
import { partitionRecord } from './http/api.ts';

const key = keys.partition('default', 0);
const value = encodeRecord(partitionRecord('default', 0, ['n1']));

function item(modRevision: number, more: Partial<MetaItem> = {}): MetaItem {
  return { key, value, createRevision: 5, modRevision, ...more };
}
const put = (modRevision: number, more: Partial<MetaItem> = {}): MetaEvent => ({
  type: 'put',
  item: item(modRevision, more),
});
const removal = (modRevision: number): MetaEvent => ({ type: 'delete', key, modRevision });

/** As it was listed at revision 8. */
function listed(): Picture {
  const picture = new Picture();
  picture.list([item(5)], 8);
  return picture;
}

test('what was written is waited for until the watch has come as far', () => {
  const picture = listed();
  picture.expect(key, 10);
  expect([picture.isBehind, picture.awaits(key)]).toEqual([true, true]);
  picture.apply([put(9)]);
  expect(picture.isBehind).toBe(true);
  picture.apply([put(10)]);
  expect([picture.isBehind, picture.awaits(key)]).toEqual([false, false]);
});

test.each<[string, readonly MetaEvent[]]>([
  ['told', [put(10)]],
  ['told and removed again', [put(10), removal(11)]],
  ['told, and cannot be read any more', [put(10), put(11, { value: '{' })]],
])('what was written is not waited for when it was %s before the answer came', (_, events) => {
  const picture = listed();
  for (const event of events) picture.apply([event]);
  picture.expect(key, 10);
  expect(picture.isBehind).toBe(false);
});

test('what was written counts as told by a list that is newer, and by no older one', () => {
  const picture = listed();
  picture.expect(key, 10);
  picture.list([item(5)], 9);
  expect(picture.isBehind).toBe(true);
  picture.list([], 11);
  expect(picture.isBehind).toBe(false);
  picture.expect(key, 11);
  expect(picture.isBehind).toBe(false);
});

test('a partition that cannot be read any more is shown as it was, and nothing is decided on it', () => {
  const picture = listed();
  picture.apply([put(9, { value: '{' })]);
  expect(picture.shownPartitions()).toMatchObject([{ namespace: 'default', partition: 0 }]);
  expect(picture.partitions()).toEqual([]);
  const other = new Picture(undefined, (at) => picture.kept(at));
  other.list([item(9, { value: '{' })], 9);
  expect(other.shownPartitions()).toHaveLength(1);
  expect(other.partitions()).toEqual([]);
});
