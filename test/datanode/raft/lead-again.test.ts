/** What a leader knew of its followers' logs says nothing in another term: they may have been cut. */
import { expect, test } from 'vitest';
import { leader, TERM } from './lone-leader.ts';

test('a leader that leads again counts no acknowledgement of before', () => {
  const { node, acknowledge, work } = leader([1, 2, 3], 'all');
  acknowledge(2);
  work();
  const matches = () => node.status().progress.map(({ match }) => match);
  expect(matches()).toEqual([node.lastIndex, node.lastIndex, 0]);
  const term = TERM + 2;
  node.step({ type: 'heartbeat', from: 3, to: 1, term: TERM + 1, commit: 0, readContext: 0 });
  node.campaign();
  work();
  const vote = { from: 3, to: 1, term, reject: false, commit: 0, commitTerm: 0 } as const;
  node.step({ type: 'voteResponse', ...vote });
  work();
  expect([node.role, node.term]).toEqual(['leader', term]);
  expect(matches()).toEqual([node.lastIndex, 0, 0]);
});
