import { expect, test } from 'vitest';
import { limits } from '../../src/common/limits.ts';
import { TurnShare } from '../../src/common/turn-share.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';

test('work of a turn is over once its share is used up, and goes on in the next', async () => {
  const clock = new ManualClock();
  const ended: boolean[] = [];
  const share = new TurnShare(clock, (wasOver) => ended.push(wasOver));
  share.begin();
  clock.spend(limits.turnMs / 2);
  share.note();
  expect(share.isOver).toBe(false);
  share.begin();
  clock.spend(limits.turnMs / 2);
  share.note();
  expect(share.isOver).toBe(true);
  await clock.step();
  expect([share.isOver, ended]).toEqual([false, [true]]);
});

test('what is waited for over several turns uses up none of them', async () => {
  const clock = new ManualClock();
  const ended: boolean[] = [];
  const share = new TurnShare(clock, (wasOver) => ended.push(wasOver));
  share.begin();
  await clock.step();
  clock.spend(10 * limits.turnMs);
  share.note();
  expect([share.isOver, ended]).toEqual([false, [false]]);
});

test('the clock is looked at behind so many steps, and a turn may end for another reason', async () => {
  const clock = new ManualClock();
  const share = new TurnShare(clock, () => {}, 16);
  share.begin();
  clock.spend(limits.turnMs);
  share.note(15);
  expect(share.isOver).toBe(false);
  share.note();
  expect(share.isOver).toBe(true);
  await clock.step();
  share.begin();
  share.end();
  expect(share.isOver).toBe(true);
  await clock.step();
  expect(share.isOver).toBe(false);
});
