import { describe, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { GroupTime } from '../../../../src/datanode/partition/storage/group-time.ts';
import { Trio } from '../trio.ts';

class HandClock implements Clock {
  monotone = 0;
  wall = 10_000_000;
  monotonicMs = () => this.monotone;
  wallMs = () => this.wall;
  setTimer = () => ({ cancel() {} });
  endOfTurn() {}
  advance(ms: number): void {
    this.monotone += ms;
    this.wall += ms;
  }
}

/** Of replica 1, with others whose nodes' wall clocks are these. */
function timeOf(clock: Clock, walls: () => readonly (number | undefined)[]): GroupTime {
  const settings = { clockSkewMaxMs: 500 };
  const world = { clock, settings, wallMs: (member: number) => walls()[member - 2] };
  return new GroupTime(world, 1, () => [1, ...walls().map((_, at) => at + 2)]);
}

describe('the time of a group', () => {
  test('follows the wall clock', () => {
    const clock = new HandClock();
    const time = timeOf(clock, () => []);
    expect(time.nowMs()).toBe(10_000_000);
    clock.advance(10);
    expect(time.nowMs()).toBe(10_000_010);
  });

  test('goes on from the log’s last entry when the wall clock jumps back', () => {
    const clock = new HandClock();
    const time = timeOf(clock, () => []);
    time.observe(10_000_000);
    clock.wall -= 3_600_000;
    clock.monotone += 25;
    expect(time.nowMs()).toBe(10_000_025);
  });

  test('is held within the allowed skew of the median of the group’s clocks', () => {
    const clock = new HandClock();
    // This clock is an hour ahead of both others.
    const ahead = timeOf(clock, () => [6_400_000, 6_399_900]);
    expect(ahead.nowMs()).toBe(6_400_500);
    const behind = timeOf(clock, () => [13_600_000, 13_600_100]);
    expect(behind.nowMs()).toBe(13_599_500);
  });

  test('follows no wall clock while fewer than a quorum of them is known', () => {
    const clock = new HandClock();
    let known: readonly (number | undefined)[] = [undefined, undefined];
    const time = timeOf(clock, () => known);
    time.observe(4_000_000);
    clock.advance(25);
    expect(time.nowMs()).toBe(4_000_025);
    known = [undefined, 5_000_000];
    expect(time.nowMs()).toBe(5_000_500);
    known = [undefined, 20_000_000];
    expect(time.nowMs()).toBe(10_000_025);
  });

  test('of a new group is that of its first leader until others are known', () => {
    const time = timeOf(new HandClock(), () => [undefined, undefined]);
    expect(time.nowMs()).toBe(10_000_000);
  });

  test('never goes back to an older entry', () => {
    const clock = new HandClock();
    const time = timeOf(clock, () => []);
    time.observe(50_000_000);
    time.observe(40_000_000);
    expect(time.nowMs()).toBe(50_000_000);
  });
});

/** A group led by n1, whose wall clock is ten minutes ahead of the others'. */
async function ledAhead(): Promise<Trio> {
  const trio = new Trio({ clockSkewMaxMs: 3_600_000 });
  const aheadMs = 600_000;
  trio.clocks.set('n1', { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs });
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  await expect.poll(() => trio.hosts.get('n1')!.local('default', 0)!.isLeader).toBe(true);
  return trio;
}

test('a leader goes on from what its predecessor has written, however far ahead that was', async () => {
  const trio = await ledAhead();
  try {
    await trio.run('write', 'SET k v');
    const { appliedIndex, state } = await trio.leader();
    for (const node of ['n2', 'n3']) await trio.caughtUp(node, appliedIndex);
    await trio.stop('n1');
    trio.tellOfPeer('n1', false);
    const next = await trio.leader();
    expect(next.inspect().time.nowMs()).toBeGreaterThanOrEqual(state.timeMs);
  } finally {
    await trio.destroy();
  }
  expect(trio.faults).toEqual([]);
});

test('so it does from a snapshot, and from what its log and its engine had when it was opened', async () => {
  const trio = await ledAhead();
  try {
    await trio.stop('n3');
    trio.forgetStreams();
    for (let at = 0; at < 100; at++) await trio.run('write', `SET k${at} v`);
    const leader = await trio.leader();
    // while n3 was heard of lately it is waited for, and the log is cut when something new is synced
    const more = () => trio.run('write', 'SET k v');
    await expect
      .poll(() => more().then(() => trio.logs.get('n1')!.replica(1)!.firstIndex()))
      .toBeGreaterThan(20);
    const { timeMs, index } = leader.state;
    for (let life = 1; life <= 2; life++) {
      await trio.start('n3');
      await trio.caughtUp('n3', index);
      const { time } = trio.hosts.get('n3')!.local('default', 0)!.inspect();
      expect(time.nowMs(), `life ${life}`).toBeGreaterThanOrEqual(timeMs);
      await trio.stop('n3');
    }
    expect(trio.offsetsTo('n3')).toHaveLength(1); // a snapshot was sent, once
  } finally {
    await trio.destroy();
  }
  expect(trio.faults).toEqual([]);
});
