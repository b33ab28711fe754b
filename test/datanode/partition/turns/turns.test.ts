/** Who asks for a turn gets one, whenever it asks and whatever becomes of the others. */
import { expect, test } from 'vitest';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { Turns } from '../../../../src/datanode/partition/turns/turns.ts';

function world() {
  const ending: (() => void)[] = [];
  const turns = new Turns({ endOfTurn: (run) => void ending.push(run) });
  const calls: string[] = [];
  const replica = (name: string, run: () => void = () => {}, onFail = () => {}) => {
    const turn = () => {
      calls.push(name);
      run();
    };
    return { turn, fail: onFail } as unknown as Replica;
  };
  const endTurn = () => ending.shift()?.();
  return { turns, calls, replica, endTurn, isAsked: () => ending.length > 0 };
}

test('each is called once, however often it asks', () => {
  const { turns, calls, replica, endTurn, isAsked } = world();
  const [a, b] = [replica('a'), replica('b')];
  for (const one of [a, b, a]) turns.request(one);
  endTurn();
  expect(calls).toEqual(['a', 'b']);
  expect(isAsked()).toBe(false);
});

test('who is asked for in a turn has its turn in it, unless it had it already', () => {
  const { turns, calls, replica, endTurn, isAsked } = world();
  const [late, next] = [replica('late'), replica('next')];
  const first: Replica = replica('first', () => {
    for (const one of [late, next, first]) turns.request(one);
  });
  turns.request(first);
  turns.request(next);
  endTurn();
  expect(calls).toEqual(['first', 'next', 'late']);
  expect(isAsked()).toBe(true);
  endTurn();
  expect(calls).toEqual(['first', 'next', 'late', 'first', 'late', 'next']);
});

test('one that fails keeps nobody from anything, not even when that fails', () => {
  const { turns, calls, replica, endTurn } = world();
  const broken = () => {
    throw new Error('broken');
  };
  turns.request(replica('bad', broken));
  turns.request(replica('good'));
  endTurn();
  expect(calls).toEqual(['bad', 'good']);
  turns.request(replica('worse', broken, broken));
  expect(endTurn).toThrow('broken');
  turns.request(replica('good'));
  endTurn();
  expect(calls).toEqual(['bad', 'good', 'worse', 'good']);
});
