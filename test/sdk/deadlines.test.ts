/** When calls are asked whether their time is over, also in a process that has stood still. */
import { expect, test } from 'vitest';
import { Deadlines } from '../../src/sdk/deadlines.ts';
import { HandClock } from './hand-clock.ts';

function scene() {
  const clock = new HandClock();
  const deadlines = new Deadlines(clock, 20);
  const looks: number[] = [];
  const timed = { onTime: (nowMs: number) => void looks.push(nowMs) };
  deadlines.add(timed);
  return { clock, deadlines, looks, timed };
}

/** Whose time goes on while calls are asked, and whose turns end by hand. */
function busyScene() {
  const ends: (() => void)[] = [];
  const clock = {
    nowMs: 0,
    timers: [] as (() => void)[],
    monotonicMs: () => clock.nowMs,
    wallMs: () => clock.nowMs,
    setTimer: (_delayMs: number, run: () => void) => {
      clock.timers.push(run);
      return { cancel: () => {} };
    },
    endOfTurn: (run: () => void) => void ends.push(run),
  };
  const turn = () => {
    const run = ends.shift();
    run?.();
    return run !== undefined;
  };
  return { clock, deadlines: new Deadlines(clock, 20), looks: [] as number[], turn };
}

test('all under way are asked at every look, and none once there are none', () => {
  const { clock, deadlines, looks, timed } = scene();
  for (let i = 0; i < 3; i++) clock.run(20);
  expect(looks).toEqual([20, 40, 60]);
  deadlines.delete(timed);
  clock.run(20);
  expect(looks).toHaveLength(3);
  expect(clock.armed).toBe(0);
});

test('after the process stood still, what was asked has one look more to answer', () => {
  const { clock, looks } = scene();
  clock.run(500);
  expect(looks).toEqual([]);
  clock.run(20);
  expect(looks).toEqual([520]);
});

test('a look that takes long goes on in the next turns, and asks everybody once', () => {
  const { clock, deadlines, looks, turn } = busyScene();
  for (let at = 0; at < 1_000; at++) {
    const timed = {
      onTime: () => {
        looks.push(at);
        deadlines.delete(timed);
        clock.nowMs += 0.1;
      },
    };
    deadlines.add(timed);
  }
  clock.nowMs = 20;
  clock.timers.shift()!();
  const counts: number[] = [];
  while (turn()) counts.push(looks.length);
  expect(counts[0]).toBe(64);
  expect(counts.length).toBe(Math.ceil(1_000 / 64));
  expect(looks).toEqual(Array.from({ length: 1_000 }, (_, at) => at));
  expect(clock.timers).toHaveLength(0);
  deadlines.add({ onTime: () => {} });
  expect(clock.timers).toHaveLength(1);
});

test('who comes while a look is under way is looked at from one timer', () => {
  const { clock, deadlines, turn } = busyScene();
  const onTime = () => {
    clock.nowMs += 1;
  };
  for (let at = 0; at < 100; at++) deadlines.add({ onTime });
  clock.nowMs = 20;
  clock.timers.shift()!();
  expect(turn()).toBe(true);
  deadlines.add({ onTime: () => {} });
  expect(clock.timers).toHaveLength(0);
  while (turn());
  expect(clock.timers).toHaveLength(1);
});

test('of those that are due as their turn comes some end at once, the others by the look', () => {
  const { clock, deadlines, looks, timed } = scene();
  for (let at = 0; at < 1_000; at++) deadlines.overdue(timed, 7);
  expect(looks).toEqual(Array.from({ length: 256 }, () => 7));
  clock.run(20);
  deadlines.overdue(timed, 21);
  expect(looks.slice(256)).toEqual([20, 21]);
});

test('a process that is always late has deadlines all the same', () => {
  const { clock, looks } = scene();
  for (let i = 0; i < 6; i++) clock.run(300);
  expect(looks).toEqual([600, 1_200, 1_800]);
});
