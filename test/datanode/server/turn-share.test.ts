import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { TurnShare } from '../../../src/datanode/server/turn-share.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

test('work of a turn is over once its share is used up, and goes on in the next', async () => {
  const clock = new ManualClock();
  let goneOn = 0;
  const share = new TurnShare(clock, () => goneOn++);
  share.begin();
  clock.spend(limits.turnMs / 2);
  share.look();
  expect(share.isUsedUp).toBe(false);
  share.begin();
  clock.spend(limits.turnMs / 2);
  share.look();
  expect(share.isUsedUp).toBe(true);
  await clock.step();
  expect([share.isUsedUp, goneOn]).toEqual([false, 1]);
});

test('what is waited for over several turns uses up none of them', async () => {
  const clock = new ManualClock();
  let goneOn = 0;
  const share = new TurnShare(clock, () => goneOn++);
  share.begin();
  await clock.step();
  clock.spend(10 * limits.turnMs);
  share.look();
  expect([share.isUsedUp, goneOn]).toEqual([false, 0]);
});
