/** When what has gathered leaves: who is alone waits for nobody, cohorts become one. */
import { expect, test } from 'vitest';
import { Cohort } from '../../../src/datanode/partition/cohort.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

const WAIT_MS = 4;

function world() {
  const clock = new ManualClock();
  let turns = 0;
  const requestTurn = () => void turns++;
  const cohort = new Cohort({ clock, requestTurn }, WAIT_MS);
  return { clock, cohort, turns: () => turns };
}

test('a single client waits for nobody', () => {
  const { clock, cohort } = world();
  for (let i = 0; i < 5; i++) {
    expect(cohort.mayLeave(1, false)).toBe(true);
    clock.spend(0.7);
    cohort.onAnswered(1, 0);
    clock.spend(0.1);
  }
});

test('what comes while others are under way waits for those, and for them to come back', () => {
  const { clock, cohort, turns } = world();
  expect(cohort.mayLeave(8, false)).toBe(true);
  clock.spend(0.2);
  expect(cohort.mayLeave(8, true)).toBe(false);
  clock.spend(0.8);
  cohort.onAnswered(8, 8);
  expect(turns()).toBe(1);
  expect(cohort.mayLeave(8, false)).toBe(false);
  clock.spend(0.2);
  expect(cohort.mayLeave(13, false)).toBe(false);
  expect(cohort.mayLeave(15, false)).toBe(true);
});

test('two clients whose entries would take turns meet', () => {
  const { clock, cohort } = world();
  expect(cohort.mayLeave(1, false)).toBe(true);
  clock.spend(0.4);
  expect(cohort.mayLeave(1, true)).toBe(false);
  clock.spend(0.3);
  cohort.onAnswered(1, 1);
  expect(cohort.mayLeave(1, false)).toBe(false);
  clock.spend(0.2);
  expect(cohort.mayLeave(2, false)).toBe(true);
});

test('who does not come back is waited for a moment', () => {
  const { clock, cohort } = world();
  expect(cohort.mayLeave(8, false)).toBe(true);
  cohort.onAnswered(8, 0);
  clock.spend(0.5);
  expect(cohort.mayLeave(2, false)).toBe(false);
  clock.spend(0.6);
  expect(cohort.mayLeave(2, false)).toBe(true);
  clock.spend(50);
  expect(cohort.mayLeave(2, false)).toBe(true);
});

test('nobody waits longer than told, whatever is under way', () => {
  const { clock, cohort } = world();
  expect(cohort.mayLeave(1, true)).toBe(false);
  clock.spend(WAIT_MS - 1);
  expect(cohort.mayLeave(5, true)).toBe(false);
  clock.spend(1);
  expect(cohort.mayLeave(6, true)).toBe(true);
  expect(cohort.mayLeave(1, true)).toBe(false);
});

test('what is enough for an entry of its own leaves at once', () => {
  const { cohort } = world();
  expect(cohort.mayLeave(64, true)).toBe(true);
});

test('a turn is asked for as long as somebody waits, and no longer', async () => {
  const { clock, cohort, turns } = world();
  expect(cohort.mayLeave(1, true)).toBe(false);
  expect(cohort.mayLeave(2, true)).toBe(false);
  expect(await clock.step()).toBe(true);
  expect(turns()).toBe(1);
  clock.spend(WAIT_MS);
  expect(cohort.mayLeave(2, true)).toBe(true);
  expect(await clock.step()).toBe(false);
  expect(cohort.mayLeave(1, true)).toBe(false);
  cohort.stop();
  expect(await clock.step()).toBe(false);
  expect(turns()).toBe(1);
});
