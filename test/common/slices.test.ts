import { expect, test } from 'vitest';
import { runAtOnce, runInSlices } from '../../src/common/slices.ts';

/** Steps of `ms` each, on a clock that they move; turns are counted. */
function ground(steps: number, ms: number) {
  let nowMs = 0;
  let turns = 1;
  const inTurn: number[] = [];
  const clock = {
    monotonicMs: () => nowMs,
    endOfTurn(run: () => void) {
      turns++;
      setImmediate(run);
    },
  };
  function* work() {
    for (let step = 0; step < steps; step++) {
      nowMs += ms;
      inTurn.push(turns);
      yield;
    }
    return 'done';
  }
  return { clock, work, inTurn };
}

test('a slice ends with the step that fills it, and the rest is done in later turns', async () => {
  const { clock, work, inTurn } = ground(6, 2);
  expect(await runInSlices(work(), clock, 5)).toBe('done');
  expect(inTurn).toEqual([1, 1, 1, 2, 2, 2]);
});

test('a step longer than a slice is one of its own', async () => {
  const { clock, work, inTurn } = ground(3, 50);
  await runInSlices(work(), clock, 5);
  expect(inTurn).toEqual([1, 2, 3]);
});

test('at once is at once; what a step throws is thrown', async () => {
  const { work, inTurn, clock } = ground(4, 50);
  expect(runAtOnce(work())).toBe('done');
  expect(new Set(inTurn).size).toBe(1);
  function* failing() {
    yield;
    throw new Error('a step');
  }
  await expect(runInSlices(failing(), clock, 5)).rejects.toThrow('a step');
});
