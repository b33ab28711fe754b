import { expect, test } from 'vitest';
import { Pulse } from '../../../src/datanode/transport/pulse.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

test('all that joined are called together, once in a period, by one timer', async () => {
  const clock = new ManualClock();
  const pulse = new Pulse(clock, 500);
  const calls: string[] = [];
  const beat = (name: string) => () => void calls.push(`${name} ${clock.monotonicMs()}`);
  const [a, b] = [beat('a'), beat('b')];
  pulse.join(a);
  clock.spend(300);
  pulse.join(b);
  await clock.steps(2);
  expect(calls).toEqual(['a 500', 'b 500', 'a 1000', 'b 1000']);
  pulse.leave(a);
  await clock.step();
  expect(calls.slice(4)).toEqual(['b 1500']);
  pulse.leave(b);
  pulse.leave(b);
  expect(await clock.step()).toBe(false);
  pulse.join(a);
  await clock.step();
  expect(calls.slice(5)).toEqual(['a 2000']);
});

test('one that leaves, or makes another leave, in its call keeps nobody from theirs', async () => {
  const clock = new ManualClock();
  const pulse = new Pulse(clock, 10);
  const calls: string[] = [];
  const c = () => void calls.push('c');
  const b = () => void calls.push('b');
  const a = () => {
    calls.push('a');
    pulse.leave(a);
    pulse.leave(b);
  };
  for (const one of [a, b, c]) pulse.join(one);
  await clock.steps(2);
  expect(calls).toEqual(['a', 'c', 'c']);
});
