import { describe, expect, test } from 'vitest';
import { type Sleeper, SleepWatch } from '../../../src/datanode/partition/sleep-watch.ts';
import type { SleepersMessage } from '../../../src/datanode/raft/message.ts';

const TICKS = 10;

/** Two nodes; what `a` tells goes to `b`. */
function pair() {
  const woken: number[] = [];
  const asleep = { a: new Map<number, number>(), b: new Map<number, number>() };
  let told: SleepersMessage | undefined;
  const sleeper = (group: number, term: number, leads: boolean): Sleeper => ({
    ...{ group, term, leads, leaderNode: 'a' },
    memberNodes: () => ['b', undefined],
    wake: () => {
      woken.push(group);
      asleep.b.delete(group);
    },
  });
  const a = new SleepWatch({
    sleepers: () => [...asleep.a].map(([group, term]) => sleeper(group, term, true)),
    peers: () => ['b', 'c'],
    send: (to, message) => {
      if (to === 'b') told = message;
    },
  });
  const b = new SleepWatch({
    sleepers: () => [...asleep.b].map(([group, term]) => sleeper(group, term, false)),
    peers: () => ['a'],
    send: () => {},
  });
  const round = () => {
    for (let tick = 0; tick < TICKS; tick++) a.tick();
    b.onDigest('a', told!);
    return told!;
  };
  return { asleep, woken, round, b };
}

describe('two nodes that tell each other which groups sleep', () => {
  test('leave them asleep while they agree, in whatever order they hold them', () => {
    const { asleep, woken, round } = pair();
    for (const group of [1, 2, 3]) asleep.a.set(group, 7);
    for (const group of [3, 1, 2]) asleep.b.set(group, 7);
    for (let at = 0; at < 5; at++) expect(round().count).toBe(3);
    expect(woken).toEqual([]);
  });

  test('wake those of a leader that does not sleep, at the second difference', () => {
    const { asleep, woken, round } = pair();
    asleep.a.set(1, 7);
    asleep.b.set(1, 7).set(2, 7);
    round();
    expect(woken).toEqual([]);
    round();
    expect(woken).toEqual([1, 2]);
  });

  test('see that a leader sleeps in another term', () => {
    const { asleep, woken, round } = pair();
    asleep.a.set(1, 8);
    asleep.b.set(1, 7);
    round();
    round();
    expect(woken).toEqual([1]);
  });

  test('forget a difference that was gone the next time', () => {
    const { asleep, woken, round } = pair();
    asleep.b.set(1, 7);
    round();
    asleep.a.set(1, 7);
    round();
    asleep.b.delete(1);
    round();
    expect(woken).toEqual([]);
  });

  test('are not asked about groups that others lead', () => {
    const { asleep, woken, b } = pair();
    asleep.b.set(1, 7);
    const none = { type: 'sleepers', from: 0, to: 0, term: 0, count: 0, digest: 0 } as const;
    b.onDigest('c', none);
    b.onDigest('c', none);
    expect(woken).toEqual([]);
  });
});
