/** What is asked for runs once, and nothing once who asked has stopped. */
import { expect, test } from 'vitest';
import { TimerSet } from '../../src/common/timer-set.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';

test('each runs once, when it is due', async () => {
  const clock = new ManualClock();
  const timers = new TimerSet(clock);
  const ran: string[] = [];
  timers.after(5, () => ran.push('second'));
  timers.after(1, () => {
    ran.push('first');
    timers.after(10, () => ran.push('third'));
  });
  await clock.steps(4);
  expect(ran).toEqual(['first', 'second', 'third']);
});

test('what waits at the end, and what is asked for behind it, never runs', async () => {
  const clock = new ManualClock();
  const timers = new TimerSet(clock);
  const ran: string[] = [];
  timers.after(1, () => timers.end());
  timers.after(2, () => ran.push('waited'));
  await clock.steps(1);
  timers.after(1, () => ran.push('came late'));
  await clock.steps(3);
  expect(ran).toEqual([]);
});
