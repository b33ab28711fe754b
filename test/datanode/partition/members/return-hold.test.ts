/** A replica that comes back takes part once every other voter is known to run, or the table is current. */
import { expect, test } from 'vitest';
import { ReturnHold } from '../../../../src/datanode/partition/members/return-hold.ts';
import {
  encodeStandings,
  type Standing,
} from '../../../../src/datanode/partition/members/standing.ts';
import { EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';

/** Replica 1 of group 7 is opened, with these voters; the others' nodes answer so. */
async function scene(voters: readonly number[], answers: ReadonlyMap<string, Standing>) {
  const released: number[] = [];
  const givenUp: number[] = [];
  const hold = new ReturnHold({
    nodeOf: (_group, replica) => `n${replica}`,
    request: async (to) => {
      const answer = answers.get(to);
      if (answer === undefined) throw new Error('away');
      return encodeStandings([answer]);
    },
    after: () => {},
    onReleased: (group) => released.push(group),
    onGivenUp: (group) => givenUp.push(group),
  });
  const confState = { ...EMPTY_CONF, voters };
  hold.opened({ id: 1, record: { group: 7 }, state: { confState } });
  await new Promise((resolve) => setImmediate(resolve));
  return { hold, released, givenUp };
}

test('it is let go when all others run', async () => {
  const answers = new Map<string, Standing>([
    ['n2', 'runs'],
    ['n3', 'runs'],
  ]);
  const { hold, released } = await scene([1, 2, 3], answers);
  expect([hold.holds(7), released]).toEqual([false, [7]]);
});

test.each(['absent', 'given-up', undefined] as const)(
  'it is held while one of them may have gone on without it: %s',
  async (standing) => {
    const answers = new Map<string, Standing>([['n2', 'runs']]);
    if (standing !== undefined) answers.set('n3', standing);
    const { hold, released, givenUp } = await scene([1, 2, 3], answers);
    expect([hold.holds(7), released]).toEqual([true, []]);
    expect(givenUp).toEqual(standing === 'given-up' ? [7] : []);
    hold.end(); // the table is current
    expect([hold.holds(7), released]).toEqual([false, [7]]);
  },
);

test('one that decides alone is never held', async () => {
  const { hold, released } = await scene([1], new Map());
  expect([hold.holds(7), released]).toEqual([false, []]);
});
