/** What engines take over in a turn, beside commands that work in it too. */
import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { turnWorkOf } from '../../../src/common/turn-work.ts';
import type { BatchOperation } from '../../../src/datanode/engine/engine.ts';
import { type Batching, turnsOf, writeInSteps } from '../../../src/datanode/engine/write-steps.ts';
import { Pace } from '../../../src/datanode/partition/turns/pace.ts';
import { handClock } from '../partition/hand-clock.ts';

/** Takes over an operation in 10 µs. */
function slowLevel(clock: ReturnType<typeof handClock>) {
  /** Operations of each turn. */
  const taken = new Map<number, number>();
  const take = () => {
    clock.ms += 0.01;
    taken.set(clock.turns, (taken.get(clock.turns) ?? 0) + 1);
  };
  const chained = { put: take, del: take, write: async () => {}, close: async () => {} };
  const batch = (operations?: BatchOperation[]) =>
    operations === undefined ? chained : Promise.resolve(operations.forEach(take));
  return { level: { batch } as Batching, taken };
}

function removals(count: number): BatchOperation[] {
  return Array.from({ length: count }, () => ({ type: 'del', key: Buffer.from('k') }));
}

/** Operations of a turn beyond what it has time for: the clock is asked in between. */
const STEP = 32;
const HALF = limits.workMs / 2 / 0.01;

test('a turn takes over for half a measure, all engines of the clock together', async () => {
  const clock = handClock();
  const { level, taken } = slowLevel(clock);
  const turn = turnsOf(clock);
  await Promise.all([1, 2, 3].map(() => writeInSteps(level, removals(500), turnsOf(clock))));
  expect(Math.max(...taken.values())).toBeLessThanOrEqual(HALF + 3 * STEP);
  await writeInSteps(level, removals(500), turn);
  expect([...taken.values()].reduce((sum, count) => sum + count)).toBe(2_000);
});

test('more than a few operations wait behind a turn in which commands had their measure', async () => {
  const clock = handClock();
  const { level, taken } = slowLevel(clock);
  const pace = new Pace(clock);
  pace.begin();
  clock.ms += limits.workMs;
  const few = writeInSteps(level, removals(16), turnsOf(clock));
  expect(taken.get(0)).toBe(16);
  const many = writeInSteps(level, removals(200), turnsOf(clock));
  expect(taken.get(0)).toBe(16);
  await Promise.all([few, many]);
  expect([...taken.values()].reduce((sum, count) => sum + count)).toBe(216);
});

test('commands have half a measure while an engine takes over, and as much behind that', () => {
  const clock = handClock();
  const work = turnWorkOf(clock);
  const pace = new Pace(clock);
  pace.begin();
  clock.ms += limits.workMs * 0.6;
  expect(pace.isDue(true)).toBe(false);
  work.beginHanding();
  expect(pace.isDue(true)).toBe(true);
  work.endHanding();
  expect(pace.isDue(true)).toBe(false);
});

test('what an engine had of a turn is none of the commands’ half', () => {
  const clock = handClock();
  const work = turnWorkOf(clock);
  const pace = new Pace(clock);
  pace.begin();
  work.beginHanding();
  const sinceMs = clock.ms;
  clock.ms += limits.workMs / 2;
  expect(work.isHandedOver(sinceMs)).toBe(true);
  work.noteHanded(sinceMs);
  expect(pace.isDue(true)).toBe(false);
  clock.ms += limits.workMs / 2;
  expect(pace.isDue(true)).toBe(true);
  work.endHanding();
  expect(pace.isDue(true)).toBe(true);
});
