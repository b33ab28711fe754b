import { expect, test } from 'vitest';
import { keys, type LeaderRecord } from '../../../src/meta/schema.ts';
import type { MetaItem } from '../../../src/meta/store.ts';
import { Epochs, type Kept } from '../../../src/placedriver/view/epochs.ts';
import { leaderRecord, namespaceRecord, nodeRecord, partitionRecord } from '../http/api.ts';

const item = (key: string, modRevision: number): MetaItem => {
  return { key, value: '', createRevision: 1, modRevision };
};
const kept = (record: unknown, readable = true): Kept => ({ record, readable });

const table = partitionRecord('a', 0, ['n1', 'n2', 'n3']);
const leader = leaderRecord(table);
const member = (more: object) => ({ ...leader, ...more });

/** Two namespaces, as of revision 30. */
function listed(): Epochs {
  const epochs = new Epochs();
  epochs.list([item(keys.namespace('a'), 2), item(keys.namespace('ab'), 9)], 30);
  return epochs;
}

/** What `a` and `ab` have after one record became another at revision 31. */
function after(key: string, before: unknown, next: unknown, readable = true): number[] {
  const epochs = listed();
  const of = (record: unknown, is = true) => (record === undefined ? undefined : kept(record, is));
  epochs.note({ key, revision: 31, before: of(before), after: of(next, readable) });
  return [epochs.of('a'), epochs.of('ab')];
}

test.each([
  ['a table', keys.partition('a', 0), table, { ...table, replicas: table.replicas.slice(1) }],
  ['who should lead', keys.partition('a', 0), table, partitionRecord('a', 0, ['n2', 'n1', 'n3'])],
  ['another group', keys.partition('a', 0), table, { ...table, group: 9 }],
  ['a leader', keys.leader('a', 0), leader, leaderRecord(table, 'n2')],
  ['a leader that won again', keys.leader('a', 0), leader, member({ term: 3 })],
  ['a leader that lost its quorum', keys.leader('a', 0), leader, member({ resigned: true })],
  ['the first leader', keys.leader('a', 0), undefined, leader],
  ['none any more', keys.leader('a', 0), leader, undefined],
  ['options', keys.namespace('a'), namespaceRecord('a'), namespaceRecord('a', { replicas: 2 })],
])('grows with %s, of its own namespace', (_what, key, before, next) => {
  expect(after(key, before, next)).toEqual([31, 30]);
});

const learning = { ...leader.membership, learners: [9] };
const filled = { catchingUp: [{ replica: 9, match: 1, last: 2 }] };

test.each([
  ['how far a learner is', keys.leader('a', 0), leader, member(filled)],
  ['members that change', keys.leader('a', 0), leader, member({ membership: learning })],
  ['a record written anew', keys.partition('a', 0), table, { ...table, epoch: 2, fence: 5 }],
  ['a lease taken anew', keys.node('n1'), nodeRecord('n1'), nodeRecord('n1')],
  ['what nodes carry', keys.load('n1'), undefined, { keys: 1 }],
  ['switches', keys.control, undefined, { stableNodes: 1 }],
])('does not grow with %s', (_what, key, before, next) => {
  expect(after(key, before, next)).toEqual([30, 30]);
});

test('grows with addresses everywhere, and with records that cannot be read any more', () => {
  const moved = nodeRecord('n1', { gatewayPort: 1 });
  expect(after(keys.node('n1'), nodeRecord('n1'), moved)).toEqual([31, 31]);
  expect(after(keys.node('n1'), nodeRecord('n1'), undefined)).toEqual([31, 31]);
  expect(after(keys.partition('a', 0), table, table, false)).toEqual([31, 30]);
});

test('what a list does not show may have gone by then; it never goes back', () => {
  const epochs = listed();
  expect([epochs.of('a'), epochs.of('ab'), epochs.of('b')]).toEqual([30, 30, 0]);
  epochs.list([item(keys.namespace('a'), 2)], 40);
  expect([epochs.of('a'), epochs.of('ab')]).toEqual([40, 0]);
  epochs.list([item(keys.namespace('a'), 2)], 35);
  expect(epochs.of('a')).toBe(40);
});

test('a namespace that is gone has none, also when its leaders tell late; made anew a higher one', () => {
  const epochs = listed();
  const record = kept(namespaceRecord('a'));
  epochs.note({ key: keys.namespace('a'), revision: 31, before: record, after: undefined });
  const late: LeaderRecord = leaderRecord(table, 'n2');
  epochs.note({ key: keys.leader('a', 0), revision: 32, before: undefined, after: kept(late) });
  expect(epochs.of('a')).toBe(0);
  epochs.note({ key: keys.leader('a', 0), revision: 33, before: kept(late), after: undefined });
  epochs.note({ key: keys.namespace('a'), revision: 34, before: undefined, after: record });
  expect(epochs.of('a')).toBe(34);
});
