import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { SharedTurns } from '../../../src/datanode/pubsub/shared-turns.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

const STEP_MS = 0.01;

function* steps(clock: ManualClock, count: number, seen: string[], name: string) {
  for (let at = 0; at < count; at++) {
    clock.spend(STEP_MS);
    seen.push(name);
    yield;
  }
}

test('few steps are taken at once, many in several turns, in the order of those who asked', async () => {
  const clock = new ManualClock();
  const turns = new SharedTurns(clock);
  const seen: string[] = [];
  expect(turns.run(steps(clock, 10, seen, 'a'))).toBeUndefined();
  const longest: number[] = [];
  const first = turns.run(steps(clock, 2_000, seen, 'b'));
  const second = turns.run(steps(clock, 1, seen, 'c'));
  expect(first).toBeDefined();
  expect(seen.length).toBeLessThan(300);
  let over = false;
  void Promise.all([first, second]).then(() => {
    over = true;
  });
  while (!over) {
    const sinceMs = clock.monotonicMs();
    await clock.step();
    longest.push(clock.monotonicMs() - sinceMs);
  }
  expect(Math.max(...longest)).toBeLessThan(limits.turnMs + 1);
  expect(longest.length).toBeGreaterThan(5);
  expect(seen.lastIndexOf('b')).toBeLessThan(seen.indexOf('c'));
  expect(seen).toHaveLength(2_011);
});

test('steps that fail are told to who asked, and hold up nobody', async () => {
  const clock = new ManualClock();
  const turns = new SharedTurns(clock);
  const seen: string[] = [];
  const first = turns.run(steps(clock, 500, seen, 'a'));
  const fails = turns.run(
    (function* () {
      yield 1;
      throw new Error('a step failed');
    })(),
  );
  const last = turns.run(steps(clock, 1, seen, 'c'));
  const failed = expect(fails).rejects.toThrow('a step failed');
  await clock.steps(20);
  await Promise.all([first, last, failed]);
  expect(seen.at(-1)).toBe('c');
});

test('nothing is taken any more once it is closed', async () => {
  const clock = new ManualClock();
  const turns = new SharedTurns(clock);
  const seen: string[] = [];
  void turns.run(steps(clock, 2_000, seen, 'a'));
  turns.close();
  const before = seen.length;
  await clock.steps(20);
  expect(seen).toHaveLength(before);
});
