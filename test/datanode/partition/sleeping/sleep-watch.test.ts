import { describe, expect, test } from 'vitest';
import {
  type Sleeper,
  SleepWatch,
} from '../../../../src/datanode/partition/sleeping/sleep-watch.ts';
import type { SleepersMessage } from '../../../../src/datanode/raft/message.ts';

const TICKS = 10;

/** Two nodes; what `a` tells goes to `b`, which asks `a` unless that does not answer. */
function pair(answers = true) {
  const woken: number[] = [];
  const questions: Buffer[] = [];
  const asleep = { a: new Map<number, number>(), b: new Map<number, number>() };
  let told: SleepersMessage | undefined;
  // every change counts, unless a test says that there was none
  let era = 0;
  let still = false;
  let looks = 0;
  const now = () => (still ? era : era++);
  const sleeper = (group: number, term: number, leads: boolean): Sleeper => ({
    ...{ group, term, leads, leaderNode: 'a' },
    memberNodes: () => ['b', undefined],
    wake: () => {
      woken.push(group);
      asleep[leads ? 'a' : 'b'].delete(group);
    },
  });
  const a = new SleepWatch({
    sleepers: () => {
      looks++;
      return [...asleep.a].map(([group, term]) => sleeper(group, term, true));
    },
    era: now,
    peers: () => ['b', 'c'],
    send: (to, message) => {
      if (to === 'b') told = message;
    },
    request: () => Promise.reject(new Error('nobody is asked')),
  });
  const b = new SleepWatch({
    sleepers: () => [...asleep.b].map(([group, term]) => sleeper(group, term, false)),
    era: now,
    peers: () => ['a'],
    send: () => {},
    request: async (_to, body) => {
      questions.push(body);
      if (!answers) throw new Error('a build that does not know the question');
      return a.onQuery('b', body);
    },
  });
  const round = async () => {
    for (let tick = 0; tick < TICKS; tick++) a.tick();
    b.onDigest('a', told!);
    await new Promise(setImmediate);
    return told!;
  };
  const rest = () => {
    still = true;
    looks = 0;
  };
  return { asleep, woken, questions, round, b, rest, looks: () => looks };
}

describe('two nodes that tell each other which groups sleep', () => {
  test('leave them asleep while they agree, in whatever order they hold them', async () => {
    const { asleep, woken, round } = pair();
    for (const group of [1, 2, 3]) asleep.a.set(group, 7);
    for (const group of [3, 1, 2]) asleep.b.set(group, 7);
    for (let at = 0; at < 5; at++) expect((await round()).count).toBe(3);
    expect(woken).toEqual([]);
  });

  test('wake those alone whose leader does not sleep, at the second difference', async () => {
    const { asleep, woken, round } = pair();
    asleep.a.set(1, 7);
    asleep.b.set(1, 7).set(2, 7);
    await round();
    expect(woken).toEqual([]);
    await round();
    expect(woken).toEqual([2]);
  });

  test('wake a leader that sleeps alone', async () => {
    const { asleep, woken, round } = pair();
    asleep.a.set(1, 7).set(2, 7);
    asleep.b.set(1, 7);
    await round();
    await round();
    expect(woken).toEqual([2]);
    expect([...asleep.b.keys()]).toEqual([1]);
  });

  test('see that a leader sleeps in another term', async () => {
    const { asleep, woken, round } = pair();
    asleep.a.set(1, 8);
    asleep.b.set(1, 7);
    await round();
    await round();
    expect(woken).toEqual([1]);
  });

  test('wake all when it cannot be told which', async () => {
    const { asleep, woken, round } = pair(false);
    asleep.a.set(1, 7);
    asleep.b.set(1, 7).set(2, 7);
    await round();
    await round();
    expect(woken).toEqual([1, 2]);
  });

  test('wake none that agree however long others fall asleep', async () => {
    const { asleep, woken, round, questions } = pair();
    for (let group = 1; group <= 10; group++) {
      asleep.a.set(group, 7);
      asleep.b.set(group, 7).set(group + 1, 7);
      await round();
    }
    expect(questions.length).toBe(5);
    // that of each second difference
    expect(woken).toEqual([3, 5, 7, 9, 11]);
  });

  test('forget a difference that was gone the next time', async () => {
    const { asleep, woken, round } = pair();
    asleep.b.set(1, 7);
    await round();
    asleep.a.set(1, 7);
    await round();
    asleep.b.delete(1);
    await round();
    expect(woken).toEqual([]);
  });

  test('go through them once only while nothing changes', async () => {
    const { asleep, woken, round, rest, looks } = pair();
    asleep.a.set(1, 7);
    asleep.b.set(1, 7);
    rest();
    for (let at = 0; at < 5; at++) expect((await round()).count).toBe(1);
    expect([looks(), woken]).toEqual([1, []]);
  });

  test('are not asked about groups that others lead', async () => {
    const { asleep, woken, questions, b } = pair();
    asleep.b.set(1, 7);
    const none = { type: 'sleepers', from: 0, to: 0, term: 0, count: 0, digest: 0 } as const;
    b.onDigest('c', none);
    b.onDigest('c', none);
    await new Promise(setImmediate);
    expect([questions, woken]).toEqual([[], []]);
  });
});
