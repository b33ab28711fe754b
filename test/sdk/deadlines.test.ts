/** When calls are asked whether their time is over, also in a process that has stood still. */
import { expect, test } from 'vitest';
import type { Clock } from '../../src/common/clock.ts';
import { Deadlines } from '../../src/sdk/deadlines.ts';

/** Time goes on only by `run`; what was due meanwhile happens at its end, as after a pause. */
class HandClock implements Clock {
  #now = 0;
  #timers: { readonly at: number; readonly run: () => void }[] = [];

  monotonicMs = () => this.#now;
  wallMs = () => this.#now;
  endOfTurn = (run: () => void) => run();

  setTimer(delayMs: number, run: () => void) {
    const timer = { at: this.#now + delayMs, run };
    this.#timers.push(timer);
    const cancel = () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
    return { cancel };
  }

  run(ms: number): void {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { run } of due) run();
  }

  get armed(): number {
    return this.#timers.length;
  }
}

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
