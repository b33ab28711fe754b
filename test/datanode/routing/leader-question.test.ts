import { expect, test } from 'vitest';
import { isFateQuestion } from '../../../src/datanode/partition/entries/fate-codec.ts';
import {
  decodeLeader,
  decodeLeaderQuestion,
  encodeLeader,
  encodeLeaderQuestion,
  isLeaderQuestion,
} from '../../../src/datanode/routing/leader-question.ts';
import { decodeBatch } from '../../../src/datanode/routing/request-codec.ts';
import { isWaitMessage } from '../../../src/datanode/routing/wait-codec.ts';

const question = { namespace: 'default', partition: 3, group: 13 };

test('a question comes back as it was, and is taken for nothing else', () => {
  const body = encodeLeaderQuestion(question);
  expect(isLeaderQuestion(body)).toBe(true);
  expect(decodeLeaderQuestion(body)).toEqual(question);
  const name = Buffer.from('default').toString('hex');
  expect(body.toString('hex')).toBe(`480100000007${name}00000003000000000000000d`);
  expect(isWaitMessage(body) || isFateQuestion(body)).toBe(false);
});

test('a node that does not know it answers that its frame is bad', () => {
  const asked = () => decodeBatch(encodeLeaderQuestion(question), 0);
  expect(asked).toThrow(expect.objectContaining({ code: 'BAD_FRAME' }));
});

test.each([{ node: 'datanode3', term: 2 ** 40 }, undefined])('an answer of %j', (hint) => {
  expect(decodeLeader(encodeLeader(hint))).toEqual(hint);
});

test('the bytes of an answer are these', () => {
  const body = encodeLeader({ node: 'n', term: 5 });
  expect(body.toString('hex')).toBe('010000000000000005000000016e');
});

test.each([
  ['of another version', encodeLeader({ node: 'a', term: 1 }).fill(2, 0, 1)],
  ['of a node without a term', encodeLeader({ node: 'a', term: 1 }).fill(0, 1, 9)],
  ['that is cut', encodeLeader({ node: 'abc', term: 1 }).subarray(0, -1)],
])('an answer %s is refused', (_what, body) => {
  expect(() => decodeLeader(body)).toThrow(expect.objectContaining({ code: 'BAD_FRAME' }));
});
