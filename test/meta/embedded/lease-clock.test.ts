import { beforeEach, expect, test } from 'vitest';
import { LeaseClock } from '../../../src/meta/embedded/lease-clock.ts';
import { HandClock } from '../../sdk/hand-clock.ts';

/** Turns end when the test says so. */
class TurnClock extends HandClock {
  readonly delaysMs: number[] = [];
  #ends: (() => void)[] = [];

  override endOfTurn = (run: () => void) => {
    this.#ends.push(run);
  };

  override setTimer(delayMs: number, run: () => void) {
    this.delaysMs.push(delayMs);
    return super.setTimer(delayMs, run);
  }

  endTurn(): void {
    for (const run of this.#ends.splice(0)) run();
  }

  pass(ms: number): void {
    this.run(ms);
    this.endTurn();
  }
}

let clock: TurnClock;
let leases: LeaseClock;
let expired: number[];

beforeEach(() => {
  clock = new TurnClock();
  expired = [];
  leases = new LeaseClock(clock, (id) => expired.push(id));
});

test('each ends in its time, whichever was started first', () => {
  leases.start(1, 3_000);
  leases.start(2, 1_000);
  leases.start(3, 2_000);
  clock.pass(999);
  expect(expired).toEqual([]);
  clock.pass(1);
  expect(expired).toEqual([2]);
  clock.pass(1_000);
  expect(expired).toEqual([2, 3]);
  expect([leases.remainingMs(3), leases.remainingMs(1)]).toEqual([undefined, 1_000]);
  clock.pass(1_000);
  expect(expired).toEqual([2, 3, 1]);
  leases.start(4, 10);
  clock.pass(10);
  expect(expired).toEqual([2, 3, 1, 4]);
});

test('one that is kept alive has its whole time again', () => {
  leases.start(1, 1_000);
  clock.pass(900);
  expect(leases.keepAlive(1)).toBe(true);
  expect(leases.remainingMs(1)).toBe(1_000);
  clock.pass(100);
  clock.pass(899);
  expect(expired).toEqual([]);
  clock.pass(1);
  expect(expired).toEqual([1]);
  expect(leases.keepAlive(1)).toBe(false);
});

test('after a stall, keep-alives that are read in the same turn come first', () => {
  leases.start(1, 1_000);
  clock.run(60_000);
  expect(expired).toEqual([]);
  leases.keepAlive(1);
  clock.endTurn();
  expect(expired).toEqual([]);
  clock.pass(1_000);
  expect(expired).toEqual([1]);
});

test('one of years does not end at once: no timer is longer than the system has them', () => {
  leases.start(1, 2 ** 33);
  clock.pass(2 ** 31);
  expect(expired).toEqual([]);
  expect(Math.max(...clock.delaysMs)).toBeLessThan(2 ** 31);
  clock.pass(2 ** 33);
  expect(expired).toEqual([1]);
});

test('what was stopped does not end, nor anything once it is closed', () => {
  leases.start(1, 1_000);
  leases.start(2, 1_000);
  leases.stop(1);
  clock.pass(1_000);
  expect(expired).toEqual([2]);
  leases.start(3, 1_000);
  clock.run(1_000);
  leases.close();
  clock.endTurn();
  leases.start(4, 1_000);
  clock.pass(2_000);
  expect([expired, clock.armed]).toEqual([[2], 0]);
});
