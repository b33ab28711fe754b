/** Reads that came with a voter's word for the leader's term need no round. */
import { expect, test } from 'vitest';
import { leader } from './lone-leader.ts';

test('the word of one of three is enough once an entry of the term is committed', () => {
  const { node, acknowledge, work } = leader([1, 2, 3]);
  expect(node.vouchedReadIndex(2)).toBeUndefined();
  acknowledge(3);
  work();
  expect(node.vouchedReadIndex(2)).toBe(node.committed);
  node.propose([new Uint8Array(1)]);
  work();
  // what is not committed yet was not acknowledged to anybody either
  expect(node.vouchedReadIndex(2)).toBe(node.lastIndex - 1);
  acknowledge(2);
  expect(node.vouchedReadIndex(2)).toBe(node.lastIndex);
});

test('the word of one of five, of a stranger or of the leader itself is not', () => {
  const five = leader([1, 2, 3, 4, 5]);
  five.acknowledge(2);
  five.acknowledge(3);
  five.work();
  expect(five.node.committed).toBe(five.node.lastIndex);
  expect(five.node.vouchedReadIndex(2)).toBeUndefined();
  const three = leader([1, 2, 3]);
  three.acknowledge(2);
  three.work();
  expect([1, 9].map((replica) => three.node.vouchedReadIndex(replica))).toEqual([
    undefined,
    undefined,
  ]);
});

test('no word is worth anything to who leads no more', () => {
  const { node, acknowledge, work } = leader([1, 2, 3]);
  acknowledge(2);
  work();
  node.step({ type: 'heartbeat', from: 3, to: 1, term: 9, commit: 0, readContext: 0 });
  expect(node.vouchedReadIndex(2)).toBeUndefined();
});
