import { beforeEach, describe, expect, test } from 'vitest';
import { type Ticking, Ticks } from '../../../../src/datanode/partition/turns/ticks.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

class One implements Ticking {
  readonly record: Ticking['record'];
  asleep = false;
  ticks = 0;
  /** Ticks until it rests. */
  restsAfter = Number.POSITIVE_INFINITY;

  constructor(group: number) {
    this.record = { group } as Ticking['record'];
  }

  get rests(): boolean {
    return this.asleep;
  }

  readonly failures: unknown[] = [];
  /** What its tick throws. */
  breaks: Error | undefined;

  fail(failure: unknown): void {
    this.failures.push(failure);
  }

  tick(): void {
    this.ticks++;
    if (this.breaks !== undefined) throw this.breaks;
    if (this.ticks >= this.restsAfter) this.asleep = true;
  }
}

let clock: ManualClock;
let serving: Map<number, 'yes' | 'held' | 'no'>;
let stirred: number[];
let looks: number[];
let ticks: Ticks<One>;
const [a, b] = [1, 2].map((group) => () => new One(group)) as [() => One, () => One];

beforeEach(() => {
  clock = new ManualClock();
  serving = new Map();
  [stirred, looks] = [[], []];
  ticks = new Ticks<One>({
    clock,
    tickMs: 100,
    isServing: (group) => serving.get(group) ?? 'yes',
    onStirred: ({ record }) => stirred.push(record.group),
    onTicks: (count) => looks.push(count),
  });
});

/** Until virtual time is `ms`. */
async function until(ms: number): Promise<void> {
  const there = new Promise<void>((resolve) => clock.setTimer(ms - clock.monotonicMs(), resolve));
  await clock.until(there);
}

describe('ticks', () => {
  test('go to those that do not rest, until they do', async () => {
    const [one, two] = [a(), b()];
    one.restsAfter = 3;
    ticks.stir(one);
    ticks.stir(two);
    ticks.start();
    await until(1_050);
    expect([one.ticks, two.ticks]).toEqual([3, 10]);
    expect([ticks.rests(one), ticks.rests(two)]).toEqual([true, false]);
    expect(stirred).toEqual([1, 2]);
    expect(looks).toEqual(Array(10).fill(1));
  });

  test('come once in ten while all rest, and soon for one that is stirred', async () => {
    const one = a();
    one.restsAfter = 1;
    ticks.stir(one);
    ticks.start();
    await until(3_150);
    expect(looks).toEqual([1, 10, 10, 10]);
    await until(3_500);
    one.asleep = false;
    one.restsAfter = 3;
    ticks.stir(one);
    ticks.stir(one);
    await until(3_650);
    expect(one.ticks).toBe(2);
    await until(3_750);
    expect(one.ticks).toBe(3);
    expect(stirred).toEqual([1, 1]);
    await until(4_600);
    expect(looks).toEqual([1, 10, 10, 10, 5, 1]);
  });

  test('are told of as many as passed, though a rest is cut short again and again', async () => {
    const one = a();
    one.asleep = true;
    ticks.start();
    for (let round = 1; round <= 20; round++) {
      await until(round * 900);
      ticks.stir(one);
    }
    await until(20_000);
    const told = looks.reduce((sum, count) => sum + count, 0);
    expect(told).toBeGreaterThanOrEqual(185);
    expect(told).toBeLessThanOrEqual(205);
  });

  test('go on though one replica fails in its own', async () => {
    const [one, two] = [a(), b()];
    one.breaks = new Error('broken');
    ticks.stir(one);
    ticks.stir(two);
    ticks.start();
    await until(250);
    expect([one.failures.length, two.ticks]).toEqual([2, 2]);
    expect(one.failures[0]).toBe(one.breaks);
  });

  test('leave out what is held, and forget what does not run here', async () => {
    const [one, two] = [a(), b()];
    serving.set(1, 'held').set(2, 'no');
    ticks.stir(one);
    ticks.stir(two);
    ticks.start();
    await until(250);
    expect([one.ticks, two.ticks]).toEqual([0, 0]);
    expect([ticks.rests(one), ticks.rests(two)]).toEqual([false, true]);
    serving.set(1, 'yes');
    await until(350);
    expect(one.ticks).toBe(1);
  });

  test('end with the node', async () => {
    const one = a();
    ticks.stir(one);
    ticks.start();
    ticks.stop();
    ticks.stir(a());
    await until(500);
    expect(one.ticks).toBe(0);
    expect(looks).toEqual([]);
  });
});

describe('the era', () => {
  test('stands still while all rest, and passes with whatever comes in', async () => {
    const one = a();
    one.restsAfter = 2;
    ticks.stir(one);
    ticks.start();
    await until(250);
    const { era } = ticks;
    await until(5_000);
    expect(ticks.era).toBe(era);
    ticks.stir(one);
    expect(ticks.era).toBeGreaterThan(era);
    const stirredEra = ticks.era;
    ticks.changed();
    expect(ticks.era).toBeGreaterThan(stirredEra);
  });

  test('passes with a tick in which a group may fall asleep by itself', async () => {
    const one = a();
    ticks.stir(one);
    ticks.start();
    const { era } = ticks;
    await until(150);
    expect(ticks.era).toBeGreaterThan(era);
  });

  test('stands still over the ticks of a group that sleeps until a deadline', async () => {
    const one = a();
    one.asleep = true;
    Object.defineProperty(one, 'rests', { value: false });
    ticks.stir(one);
    ticks.start();
    const { era } = ticks;
    await until(1_050);
    expect([one.ticks, ticks.era]).toEqual([10, era]);
  });
});
