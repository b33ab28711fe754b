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

test('a process that is always late has deadlines all the same', () => {
  const { clock, looks } = scene();
  for (let i = 0; i < 6; i++) clock.run(300);
  expect(looks).toEqual([600, 1_200, 1_800]);
});
