/** Of those who ask only the first sets a timer. */
import { expect, test } from 'vitest';
import { LoneTimer } from '../../src/common/lone-timer.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';

test('runs once for all who ask before it is due, and again for who asks then', async () => {
  const clock = new ManualClock();
  const timer = new LoneTimer(clock);
  const ran: string[] = [];
  timer.ask(5, () => ran.push('first'));
  timer.ask(1, () => ran.push('second'));
  expect(await clock.step()).toBe(true);
  expect(clock.monotonicMs()).toBe(5);
  expect(await clock.step()).toBe(false);
  timer.ask(1, () => {
    ran.push('third');
    timer.ask(1, () => ran.push('fourth'));
  });
  await clock.steps(2);
  expect(ran).toEqual(['first', 'third', 'fourth']);
});

test('what is cancelled never runs, and may be asked for anew', async () => {
  const clock = new ManualClock();
  const timer = new LoneTimer(clock);
  const ran: string[] = [];
  timer.cancel();
  timer.ask(1, () => ran.push('cancelled'));
  timer.cancel();
  timer.ask(1, () => ran.push('asked anew'));
  await clock.steps(3);
  expect(ran).toEqual(['asked anew']);
});
