import { expect, test } from 'vitest';
import { limits } from '../../../src/common/limits.ts';
import { WalkTime } from '../../../src/datanode/server/walk-time.ts';
import { ManualClock } from '../raftlog/manual-clock.ts';

test('pieces of a pipeline count together until the client has rested', () => {
  const clock = new ManualClock();
  const time = new WalkTime(clock);
  for (const isUsedUp of [false, true]) {
    time.begin();
    clock.spend(limits.turnMs / 2);
    time.end();
    expect(time.isUsedUp).toBe(isUsedUp);
    clock.spend(limits.turnMs); // of others
  }
  time.rested();
  expect(time.isUsedUp).toBe(false);
});

test('in the midst of a piece the clock is looked at now and then', () => {
  const clock = new ManualClock();
  const time = new WalkTime(clock);
  time.begin();
  clock.spend(limits.turnMs);
  time.noteTaken();
  expect(time.isUsedUp).toBe(false);
  for (let taken = 1; taken < 16; taken++) time.noteTaken();
  expect(time.isUsedUp).toBe(true);
});
