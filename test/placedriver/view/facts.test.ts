import { expect, test } from 'vitest';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaItem } from '../../../src/meta/store.ts';
import { Picture } from '../../../src/placedriver/picture.ts';
import { diffFacts, type Facts, factsOf } from '../../../src/placedriver/view/facts.ts';
import { leaderRecord, namespaceRecord, nodeRecord, partitionRecord } from '../http/api.ts';

type Records = Record<string, { readonly version: number }>;

function facts(records: Records, master?: string): Facts {
  const picture = new Picture((problem) => {
    throw new Error(problem);
  });
  const items = Object.entries(records).map(([key, record]): MetaItem => {
    return { key, value: encodeRecord(record), createRevision: 1, modRevision: 1 };
  });
  picture.list(items);
  return factsOf(picture, master);
}

const partition = partitionRecord('default', 0, ['n1', 'n2', 'n3']);
const base: Records = {
  [keys.node('n1')]: nodeRecord('n1'),
  [keys.namespace('default')]: namespaceRecord('default'),
  [keys.partition('default', 0)]: partition,
  [keys.leader('default', 0)]: leaderRecord(partition),
};
const without = (key: string): Records => {
  return Object.fromEntries(Object.entries(base).filter(([name]) => name !== key));
};

test('nothing happened between two pictures of the same', () => {
  expect(diffFacts(facts(base, 'pd1'), facts(base, 'pd1'))).toEqual([]);
});

test('another master, and none', () => {
  expect(diffFacts(facts(base), facts(base, 'pd1'))).toEqual([
    { type: 'master-changed', from: null, to: 'pd1' },
  ]);
  expect(diffFacts(facts(base, 'pd1'), facts(base))).toEqual([
    { type: 'master-changed', from: 'pd1', to: null },
  ]);
});

test('nodes come, go, restart, and are drained', () => {
  const more = { ...base, [keys.node('n4')]: nodeRecord('n4') };
  expect(diffFacts(facts(base), facts(more))).toEqual([{ type: 'node-came', node: 'n4' }]);
  expect(diffFacts(facts(more), facts(base))).toEqual([{ type: 'node-went', node: 'n4' }]);
  const again = { ...base, [keys.node('n1')]: nodeRecord('n1', { bootId: 'c' }) };
  expect(diffFacts(facts(base), facts(again))).toEqual([{ type: 'node-restarted', node: 'n1' }]);
  const state = { version: 1, node: 'n1', firstSeenMs: 1, draining: { sinceMs: 2, replicas: 3 } };
  const drained = { ...base, [keys.nodeState('n1')]: state };
  expect(diffFacts(facts(base), facts(drained))).toEqual([{ type: 'drain-began', node: 'n1' }]);
  expect(diffFacts(facts(drained), facts(base))).toEqual([{ type: 'drain-ended', node: 'n1' }]);
});

test('a namespace is told when it is visible, and when it goes', () => {
  const making = { ...base, [keys.namespace('a')]: namespaceRecord('a', { ready: false }) };
  const ready = { ...base, [keys.namespace('a')]: namespaceRecord('a') };
  const going = namespaceRecord('a', { ready: false, deleting: true });
  const deleting = { ...base, [keys.namespace('a')]: going };
  expect(diffFacts(facts(base), facts(making))).toEqual([]);
  expect(diffFacts(facts(making), facts(ready))).toEqual([
    { type: 'namespace-created', namespace: 'a' },
  ]);
  expect(diffFacts(facts(ready), facts(deleting))).toEqual([
    { type: 'namespace-deletion-began', namespace: 'a' },
  ]);
  expect(diffFacts(facts(deleting), facts(base))).toEqual([
    { type: 'namespace-deleted', namespace: 'a' },
  ]);
});

test('another leader, but not the same one in a later term', () => {
  const same = { ...base, [keys.leader('default', 0)]: { ...leaderRecord(partition), term: 9 } };
  const other = { ...base, [keys.leader('default', 0)]: leaderRecord(partition, 'n2') };
  const changed = { type: 'leader-changed', namespace: 'default', partition: 0, to: 'n2' };
  expect(diffFacts(facts(base), facts(same))).toEqual([]);
  expect(diffFacts(facts(base), facts(other))).toEqual([{ ...changed, from: 'n1' }]);
  expect(diffFacts(facts(without(keys.leader('default', 0))), facts(other))).toEqual([
    { ...changed, from: null },
  ]);
});

test('a move that is given up is told, with why', () => {
  const arriving = { replica: 9, node: 'n4', incarnation: 'n4-1' };
  const wanted = {
    ...partition,
    replicas: [partition.replicas[0]!, partition.replicas[1]!, arriving],
    move: { from: partition.replicas[2]!, to: arriving, why: 'an operator moved it', sinceMs: 1 },
    epoch: 2,
  };
  const why = 'the replica on node n4 was filled no further: given up';
  const given = {
    ...partition,
    move: { from: arriving, gaveUp: arriving, why, sinceMs: 2 },
    epoch: 3,
  };
  const learning = { epoch: 2, voters: [1, 2, 3], learners: [9], joint: false };
  const [before, after, settled] = [
    [wanted, learning] as const,
    [given, learning] as const,
    [given, { ...learning, epoch: 3, learners: [] }] as const,
  ].map(([record, membership]) =>
    facts({
      ...base,
      [keys.partition('default', 0)]: record,
      [keys.leader('default', 0)]: leaderRecord(partition, 'n1', membership),
    }),
  );
  const what = { namespace: 'default', partition: 0 };
  const all = diffFacts(before!, after!);
  expect(all).toContainEqual({ ...what, type: 'move-given-up', node: 'n4', why });
  expect(all).toContainEqual({ ...what, type: 'move-ended', from: 'n3', to: 'n4' });
  const gone = { ...what, type: 'move-ended', from: 'n4', to: null };
  expect(diffFacts(after!, settled!)).toEqual([gone]);
});

test('a move begins with the record that wants it and ends with the members that serve it', () => {
  const arriving = { replica: 9, node: 'n4', incarnation: 'n4-1' };
  const replicas = [partition.replicas[0]!, partition.replicas[1]!, arriving];
  const wanted = { ...partition, replicas, epoch: 2 };
  const story = [
    { epoch: 1, voters: [1, 2, 3], learners: [], joint: false },
    { epoch: 2, voters: [1, 2, 3], learners: [9], joint: false },
    { epoch: 2, voters: [1, 2, 3, 9], learners: [], joint: true },
    { epoch: 2, voters: [1, 2, 9], learners: [], joint: false },
  ].map((membership) =>
    facts({
      ...base,
      [keys.partition('default', 0)]: wanted,
      [keys.leader('default', 0)]: leaderRecord(wanted, 'n1', membership),
    }),
  );
  const move = { namespace: 'default', partition: 0, from: 'n3', to: 'n4' };
  expect(diffFacts(facts(base), story[0]!)).toEqual([{ ...move, type: 'move-began' }]);
  expect(diffFacts(story[0]!, story[1]!)).toEqual([]);
  expect(diffFacts(story[1]!, story[2]!)).toEqual([]);
  expect(diffFacts(story[2]!, story[3]!)).toEqual([{ ...move, type: 'move-ended' }]);
  expect(story.map(({ moves }) => [...moves.values()].map(({ phase }) => phase))).toEqual([
    ['waiting'],
    ['learning'],
    ['switching'],
    [],
  ]);
});
