import { expect, test } from 'vitest';
import { keys } from '../../../src/meta/schema.ts';
import type { MetaEvent, MetaItem } from '../../../src/meta/store.ts';
import { Epochs } from '../../../src/placedriver/view/epochs.ts';

const item = (key: string, modRevision: number): MetaItem => {
  return { key, value: '', createRevision: 1, modRevision };
};
const put = (key: string, modRevision: number): MetaEvent => {
  return { type: 'put', item: item(key, modRevision) };
};
const gone = (key: string, modRevision: number): MetaEvent => {
  return { type: 'delete', key, modRevision };
};

test('the newest of what clients are told of a namespace, and of no other', () => {
  const epochs = new Epochs();
  epochs.list(
    [
      item(keys.namespace('a'), 2),
      item(keys.namespace('ab'), 9),
      item(keys.partition('a', 0), 3),
      item(keys.leader('a', 0), 4),
      item(keys.node('n1'), 1),
      item(keys.control, 20),
    ],
    30,
  );
  expect([epochs.of('a'), epochs.of('ab'), epochs.of('b')]).toEqual([4, 9, 0]);
  epochs.apply([put(keys.leader('a', 1), 31)]);
  expect([epochs.of('a'), epochs.of('ab')]).toEqual([31, 9]);
  epochs.apply([put(keys.node('n1'), 32)]);
  expect([epochs.of('a'), epochs.of('ab')]).toEqual([32, 32]);
});

test('never goes back, also when a node leaves or the store lists anew', () => {
  const epochs = new Epochs();
  const namespace = item(keys.namespace('a'), 2);
  epochs.list([namespace, item(keys.node('n1'), 3)], 3);
  epochs.apply([gone(keys.node('n1'), 5)]);
  expect(epochs.of('a')).toBe(5);
  epochs.list([namespace], 9);
  expect(epochs.of('a'), 'nothing went since').toBe(5);
  epochs.apply([put(keys.node('n2'), 10)]);
  epochs.list([namespace], 14);
  expect(epochs.of('a'), 'n2 went at 14 at the latest').toBe(14);
});

test('a namespace that is gone has none, and one made anew a higher one', () => {
  const epochs = new Epochs();
  epochs.apply([put(keys.namespace('a'), 2), gone(keys.namespace('a'), 3)]);
  expect(epochs.of('a')).toBe(0);
  epochs.apply([put(keys.namespace('a'), 4)]);
  expect(epochs.of('a')).toBe(4);
});
