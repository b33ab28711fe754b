import { expect, test } from 'vitest';
import {
  decodeStandingQuery,
  decodeStandings,
  encodeStandingQuery,
  encodeStandings,
  isStandingQuery,
  STANDINGS_MAX,
} from '../../../../src/datanode/partition/members/standing.ts';
import { isProgressQuery } from '../../../../src/datanode/partition/snapshots/snapshot-resume.ts';

const asked = [
  { group: 1, replica: 2 },
  { group: 2 ** 40, replica: 3 },
];

test('query and answer are what they were, and frozen', () => {
  const query = encodeStandingQuery(asked);
  expect(query.toString('hex')).toBe(
    '530100020000000000000001000000000000000200000100000000000000000000000003',
  );
  expect(isStandingQuery(query)).toBe(true);
  expect(isProgressQuery(query)).toBe(false);
  expect(decodeStandingQuery(query)).toEqual(asked);
  const answer = encodeStandings(['absent', 'runs', 'given-up']);
  expect(answer.toString('hex')).toBe('01000102');
  expect(decodeStandings(answer, 3)).toEqual(['absent', 'runs', 'given-up']);
});

test.each([
  ['another version', '5302', 'unknown version 2'],
  ['more than a query has', `5301${(STANDINGS_MAX + 1).toString(16)}`, 'replicas asked for'],
  ['fewer than it says', '530100010000', 'standing query'],
  ['bytes behind', '5301000000', 'standing query'],
])('%s is refused', (_name, hex, text) => {
  expect(() => decodeStandingQuery(Buffer.from(hex, 'hex'))).toThrow(text);
});

test('an answer that is none is refused', () => {
  expect(() => decodeStandings(Buffer.from('0103', 'hex'), 1)).toThrow('unknown answer');
  expect(() => decodeStandings(Buffer.from('0101', 'hex'), 2)).toThrow('standings');
});
