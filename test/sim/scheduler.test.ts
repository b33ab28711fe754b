import { describe, expect, test } from 'vitest';
import { sleep } from '../../src/common/clock.ts';
import { seededRandom } from '../../src/common/random.ts';
import { SimClock } from './clock.ts';
import { Scheduler } from './scheduler.ts';

function ticking(seed: number): { scheduler: Scheduler; order: string[] } {
  const scheduler = new Scheduler(seededRandom(seed));
  const order: string[] = [];
  for (let i = 0; i < 20; i++) {
    scheduler.after(i % 3, () => {
      order.push(`${i}`);
      scheduler.note(`ran ${i}`);
    });
  }
  return { scheduler, order };
}

describe('the scheduler', () => {
  test('runs events by time, and two runs of one seed are equal', async () => {
    const [one, two] = [ticking(1), ticking(1)];
    await one.scheduler.run(10);
    await two.scheduler.run(10);
    expect(one.order.map((i) => Number(i) % 3)).toEqual(
      [...one.order].map((i) => Number(i) % 3).sort(),
    );
    expect(one.order).toEqual(two.order);
    expect(one.scheduler.traceHash).toBe(two.scheduler.traceHash);
    expect(one.scheduler.nowMs).toBe(10);
  });

  test('another seed orders events of the same time otherwise', async () => {
    const [one, two] = [ticking(1), ticking(2)];
    await one.scheduler.run(10);
    await two.scheduler.run(10);
    expect(one.order).not.toEqual(two.order);
    expect(one.scheduler.traceHash).not.toBe(two.scheduler.traceHash);
  });

  test('all promise reactions of an event run before the next event', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const order: string[] = [];
    scheduler.after(1, async () => {
      for (let i = 0; i < 5; i++) await null;
      order.push('reaction');
    });
    scheduler.after(1.001, () => order.push('next'));
    await scheduler.run(5);
    expect(order).toEqual(['reaction', 'next']);
  });

  test('a cancelled event does not run', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    let ran = false;
    const event = scheduler.after(1, () => {
      ran = true;
    });
    event.cancel();
    await scheduler.run(5);
    expect(ran).toBe(false);
  });

  test('thousands of cancelled events leave the others in their order', async () => {
    const orders: number[][] = [];
    for (const cancelled of [0, 3_000]) {
      const scheduler = new Scheduler(seededRandom(3));
      const order: number[] = [];
      const timers = Array.from({ length: 300 }, (_, at) =>
        scheduler.after(at % 7, () => order.push(at)),
      );
      for (const at of [5, 90, 90]) timers[at]!.cancel();
      // drawn behind the others, which are the same
      for (let at = 0; at < cancelled; at++) {
        scheduler.after(at % 11, () => order.push(-1)).cancel();
      }
      await scheduler.run(20);
      timers[7]!.cancel();
      expect(scheduler.executed).toBe(298);
      orders.push(order);
    }
    expect(orders[0]).toHaveLength(298);
    expect(orders[1]).toEqual(orders[0]);
  });

  test('runUntil stops at the condition, or says it never held', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    let ran = 0;
    for (let i = 1; i <= 5; i++) scheduler.after(i, () => ran++);
    expect(await scheduler.runUntil(() => ran === 3, 100)).toBe(true);
    expect(scheduler.nowMs).toBe(3);
    expect(await scheduler.runUntil(() => ran === 9, 100)).toBe(false);
    expect(scheduler.nowMs).toBe(103);
  });
});

describe('a simulated clock', () => {
  test('drifts by its rate and jumps only on the wall', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const [exact, fast] = [new SimClock(scheduler), new SimClock(scheduler, { rate: 1.1 })];
    const startMs = exact.monotonicMs();
    await scheduler.run(1_000);
    expect(exact.monotonicMs() - startMs).toBe(1_000);
    expect(fast.monotonicMs() - exact.monotonicMs()).toBeCloseTo(100);
    expect(fast.wallMs() - exact.wallMs()).toBe(100);
    exact.jump(-5_000);
    expect(fast.wallMs() - exact.wallMs()).toBe(5_100);
    expect(exact.monotonicMs() - startMs).toBe(1_000);
  });

  test('a fast clock ends its timers early in virtual time', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const clock = new SimClock(scheduler, { rate: 2 });
    let atMs = 0;
    void sleep(clock, 100).then(() => {
      atMs = scheduler.nowMs;
    });
    await scheduler.run(1_000);
    expect(atMs).toBe(50);
  });

  test('is as far ahead on the wall as it was set, and not otherwise', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const [exact, ahead] = [new SimClock(scheduler), new SimClock(scheduler, { offsetMs: 400 })];
    await scheduler.run(1_000);
    expect(ahead.wallMs() - exact.wallMs()).toBe(400);
    expect(ahead.monotonicMs()).toBe(exact.monotonicMs());
  });

  test('of a stopped process goes on, and what came due runs when that does, in order', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const clock = new SimClock(scheduler);
    const ran: string[] = [];
    for (const atMs of [30, 10, 20, 500]) clock.setTimer(atMs, () => ran.push(`${atMs}`));
    const cancelled = clock.setTimer(15, () => ran.push('cancelled'));
    const before = clock.monotonicMs();
    clock.pause();
    await scheduler.run(100);
    expect(ran).toEqual([]);
    expect(clock.monotonicMs() - before).toBe(100);
    cancelled.cancel();
    clock.resume();
    await scheduler.run(101);
    expect(ran).toEqual(['10', '20', '30']);
    await scheduler.run(600);
    expect(ran).toEqual(['10', '20', '30', '500']);
  });

  test('a killed clock runs nothing, neither set before nor after', async () => {
    const scheduler = new Scheduler(seededRandom(3));
    const clock = new SimClock(scheduler);
    let ran = 0;
    clock.setTimer(5, () => ran++);
    clock.endOfTurn(() => ran++);
    clock.kill();
    clock.endOfTurn(() => ran++);
    await scheduler.run(100);
    expect(ran).toBe(0);
    expect(clock.pending).toBe(0);
  });
});
