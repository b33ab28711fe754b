import { expect, test } from 'vitest';
import { isStandingQuery } from '../../../../src/datanode/partition/members/standing.ts';
import {
  decodeSleepersAnswer,
  decodeSleepersQuery,
  encodeSleepersAnswer,
  encodeSleepersQuery,
  isSleepersQuery,
  SLEEPERS_MAX,
} from '../../../../src/datanode/partition/sleeping/sleepers-query.ts';
import { isProgressQuery } from '../../../../src/datanode/partition/snapshots/snapshot-resume.ts';

const asked = [
  { group: 1, term: 2 },
  { group: 2 ** 40, term: 3 },
];

test('query and answer are what they were, and frozen', () => {
  const query = encodeSleepersQuery(asked);
  expect(query.toString('hex')).toBe(
    '5a0100020000000000000001000000000000000200000100000000000000000000000003',
  );
  expect(isSleepersQuery(query)).toBe(true);
  expect([isProgressQuery(query), isStandingQuery(query)]).toEqual([false, false]);
  expect(decodeSleepersQuery(query)).toEqual(asked);
  const answer = encodeSleepersAnswer([true, false]);
  expect(answer.toString('hex')).toBe('010100');
  expect(decodeSleepersAnswer(answer, 2)).toEqual([true, false]);
});

test.each([
  ['another version', '5a02', 'unknown version 2'],
  ['more than a query has', `5a01${(SLEEPERS_MAX + 1).toString(16)}`, 'groups asked for'],
  ['fewer than it says', '5a0100010000', 'query about sleepers'],
  ['bytes behind', '5a01000000', 'query about sleepers'],
])('%s is refused', (_name, hex, text) => {
  expect(() => decodeSleepersQuery(Buffer.from(hex, 'hex'))).toThrow(text);
});

test.each([
  ['of another version', '0200', 'unknown version 2'],
  ['that is none', '0102', 'unknown answer 2'],
  ['with too many', '010000', 'answer about sleepers'],
])('an answer %s is refused', (_name, hex, text) => {
  expect(() => decodeSleepersAnswer(Buffer.from(hex, 'hex'), 1)).toThrow(text);
});
