/** Who holds nothing has no configuration and votes for nobody: it is made no voter. */
import { expect, test } from 'vitest';
import { leader, TERM } from './lone-leader.ts';

const change = (kind: 'addLearner' | 'addVoter', replica: number) => ({
  transition: 'auto' as const,
  steps: [{ kind, replica }],
  context: new Uint8Array(0),
});

test('a replica becomes a voter once it has acknowledged something, and not before', () => {
  const { node, acknowledge, work } = leader([1, 2, 3]);
  const commitAll = () => {
    work();
    for (const voter of [2, 3]) acknowledge(voter);
    work();
  };
  commitAll();
  const refused = { ok: false, refusal: 'voter-not-ready' };
  expect(node.proposeConfChange(change('addVoter', 4))).toEqual(refused);
  expect(node.proposeConfChange(change('addLearner', 4))).toMatchObject({ ok: true });
  commitAll();
  node.applyConfChange(change('addLearner', 4));
  work();
  // heard from, as one whose log is empty
  const heard = { type: 'heartbeatResponse', from: 4, to: 1, term: TERM, readContext: 0 } as const;
  node.step(heard);
  expect(node.proposeConfChange(change('addVoter', 4))).toEqual(refused);
  acknowledge(4);
  expect(node.proposeConfChange(change('addVoter', 4))).toMatchObject({ ok: true });
});
