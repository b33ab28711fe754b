/** When what has gathered leaves: who is alone waits for nobody, cohorts of a node become one. */
import { expect, test } from 'vitest';
import { Cohorts, type Companion } from '../../../../src/datanode/partition/proposing/cohort.ts';
import { ManualClock } from '../../raftlog/manual-clock.ts';

const WAIT_MS = 4;
const WAIT_MOST_MS = 20;

/** A group as its cohort knows it: who waits in it, and who has left. */
class Group {
  turns = 0;
  waiting = 0;
  underWay = 0;
  readonly #companion: Companion;

  constructor(cohorts: Cohorts) {
    this.#companion = cohorts.join(() => void this.turns++);
  }

  come(count: number): void {
    this.waiting += count;
    this.#tell();
  }

  /** True when all who wait have left. */
  turn(): boolean {
    if (!this.#companion.mayLeave()) return false;
    this.underWay += this.waiting;
    this.waiting = 0;
    this.#tell();
    return true;
  }

  comeAndTurn(count: number): boolean {
    this.come(count);
    return this.turn();
  }

  answer(count = this.underWay): void {
    this.underWay -= count;
    this.#tell();
  }

  stop(): void {
    this.#companion.stop();
  }

  #tell(): void {
    this.#companion.note(this.waiting, this.underWay);
  }
}

function world() {
  const clock = new ManualClock();
  const cohorts = new Cohorts(clock, { leastMs: WAIT_MS, mostMs: WAIT_MOST_MS });
  const groups = Array.from({ length: 3 }, () => new Group(cohorts));
  return { clock, cohorts, a: groups[0]!, b: groups[1]!, c: groups[2]! };
}

test('a single client waits for nobody', () => {
  const { clock, a } = world();
  for (let i = 0; i < 5; i++) {
    expect(a.comeAndTurn(1)).toBe(true);
    clock.spend(0.7);
    a.answer();
    clock.spend(0.1);
  }
});

test('what comes while others are under way waits for those, and for them to come back', () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(8)).toBe(true);
  clock.spend(0.2);
  expect(a.comeAndTurn(8)).toBe(false);
  clock.spend(0.8);
  a.answer();
  expect(a.turns).toBe(1);
  expect(a.turn()).toBe(false);
  clock.spend(0.2);
  expect(a.comeAndTurn(5)).toBe(false);
  expect(a.comeAndTurn(2)).toBe(true);
});

test('two clients whose entries would take turns meet', () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  clock.spend(0.4);
  expect(a.comeAndTurn(1)).toBe(false);
  clock.spend(0.3);
  a.answer();
  expect(a.turn()).toBe(false);
  clock.spend(0.2);
  expect(a.comeAndTurn(1)).toBe(true);
});

test('who does not come back is waited for a moment', () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(8)).toBe(true);
  a.answer();
  clock.spend(0.5);
  expect(a.comeAndTurn(2)).toBe(false);
  clock.spend(0.6);
  expect(a.turn()).toBe(true);
  a.answer();
  clock.spend(50);
  expect(a.comeAndTurn(2)).toBe(true);
});

test('nobody waits longer than told, whatever is under way', () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
  clock.spend(WAIT_MS - 1);
  expect(a.comeAndTurn(4)).toBe(false);
  clock.spend(1);
  expect(a.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
});

test('what is enough for an entry of its own leaves at once', () => {
  const { a } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(64)).toBe(true);
});

test('nor does what is enough for one group keep the others waiting', () => {
  const { a, b, c } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(b.comeAndTurn(60)).toBe(false);
  expect(c.comeAndTurn(60)).toBe(false);
  expect(b.comeAndTurn(4)).toBe(true);
  expect(c.turn()).toBe(true);
  // all have left: nobody is full any more
  expect(c.comeAndTurn(60)).toBe(false);
});

test('so many of all groups do not wait either', () => {
  const { cohorts, a } = world();
  const others = Array.from({ length: 9 }, () => new Group(cohorts));
  expect(a.comeAndTurn(1)).toBe(true);
  const left = others.map((group) => group.comeAndTurn(60));
  expect(left).toEqual([...Array(8).fill(false), true]);
});

test('a turn is asked for as long as somebody waits, and no longer', async () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
  expect(a.comeAndTurn(1)).toBe(false);
  expect(await clock.step()).toBe(true);
  expect(a.turns).toBe(1);
  clock.spend(WAIT_MS);
  expect(a.turn()).toBe(true);
  expect(await clock.step()).toBe(false);
  expect(a.comeAndTurn(1)).toBe(false);
  a.stop();
  await clock.step();
  expect(a.turns).toBe(1);
});

test('groups of a node leave together: the first that may takes the others along', () => {
  const { clock, a, b, c } = world();
  expect(a.comeAndTurn(2)).toBe(true);
  expect(b.comeAndTurn(2)).toBe(false);
  expect(c.comeAndTurn(1)).toBe(false);
  clock.spend(0.5);
  a.answer();
  expect(a.comeAndTurn(2)).toBe(true);
  expect([b.turns, c.turns]).toEqual([2, 1]);
  expect(b.turn()).toBe(true);
  expect(c.turn()).toBe(true);
  b.come(1);
  expect(b.turn()).toBe(false);
});

test('those of all groups are waited for when they have been answered', () => {
  const { clock, a, b } = world();
  a.come(4);
  b.come(4);
  expect(a.turn()).toBe(true);
  expect(b.turn()).toBe(true);
  clock.spend(0.5);
  a.answer();
  expect(a.comeAndTurn(4)).toBe(false);
  b.answer();
  expect(b.comeAndTurn(3)).toBe(false);
  expect(b.comeAndTurn(1)).toBe(true);
  expect(a.turn()).toBe(true);
});

test('a group that does not answer is waited for once, and is a cohort of its own until it does', () => {
  const { clock, a, b } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(b.comeAndTurn(1)).toBe(false);
  clock.spend(WAIT_MS);
  expect(b.turn()).toBe(true);
  b.answer();
  for (let i = 0; i < 3; i++) {
    expect(a.comeAndTurn(1)).toBe(false);
    expect(b.comeAndTurn(1)).toBe(true);
    clock.spend(0.5);
    b.answer();
    clock.spend(1);
  }
  clock.spend(WAIT_MS);
  a.answer(1);
  expect(a.turn()).toBe(true);
  clock.spend(0.5);
  a.answer();
  expect(b.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
});

test('a slow group gathers by itself', () => {
  const { clock, a } = world();
  expect(a.comeAndTurn(3)).toBe(true);
  clock.spend(3 * WAIT_MS);
  a.answer();
  expect(a.comeAndTurn(3)).toBe(true);
  expect(a.comeAndTurn(3)).toBe(false);
  clock.spend(WAIT_MS - 1);
  expect(a.turn()).toBe(false);
  clock.spend(1);
  expect(a.turn()).toBe(true);
});

test('who stops is waited for by nobody', () => {
  const { a, b } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(b.comeAndTurn(1)).toBe(false);
  a.stop();
  expect(b.turns).toBe(1);
  expect(b.turn()).toBe(true);
});

test('nobody waits longer for others than its own group takes to answer', () => {
  const { clock, a, b } = world();
  for (let i = 0; i < 30; i++) {
    expect(b.comeAndTurn(1)).toBe(true);
    clock.spend(0.5);
    b.answer();
    clock.spend(1);
  }
  expect(a.comeAndTurn(1)).toBe(true);
  clock.spend(0.1);
  expect(b.comeAndTurn(1)).toBe(false);
  clock.spend(0.4);
  expect(b.turn()).toBe(false);
  clock.spend(0.2);
  expect(b.turn()).toBe(true);
});

test('a slow group whose entries overlap is not waited for again before it is quick', () => {
  const { clock, a, b } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  clock.spend(1);
  a.come(1);
  clock.spend(WAIT_MS - 0.9);
  expect(a.turn()).toBe(true);
  clock.spend(2);
  a.answer(1);
  expect(b.comeAndTurn(1)).toBe(true);
});

test('a group that is quick again keeps its place in the line', () => {
  const { clock, a, b, c } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  clock.spend(WAIT_MS + 1);
  a.answer();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
  clock.spend(WAIT_MS - 0.4);
  expect(c.comeAndTurn(1)).toBe(true);
  expect(b.comeAndTurn(1)).toBe(false);
  a.answer();
  clock.spend(0.4);
  expect(a.turn()).toBe(true);
});

test('a group that becomes slow while others of it wait gets a turn', async () => {
  const { clock, a, b } = world();
  expect(a.comeAndTurn(1)).toBe(true);
  expect(b.comeAndTurn(1)).toBe(false);
  expect(a.comeAndTurn(1)).toBe(false);
  clock.spend(WAIT_MS);
  a.answer();
  expect(b.turn()).toBe(true);
  await clock.steps(3);
  expect(a.turns).toBeGreaterThan(0);
  expect(a.turn()).toBe(true);
});

test('when the group that is asked for all refuses its commands, another is asked', async () => {
  const { clock, a, b, c } = world();
  expect(c.comeAndTurn(1)).toBe(true);
  expect(a.comeAndTurn(1)).toBe(false);
  expect(b.comeAndTurn(1)).toBe(false);
  await clock.step();
  expect([a.turns, b.turns]).toEqual([1, 0]);
  a.come(-1);
  await clock.steps(3);
  expect(b.turns).toBeGreaterThan(0);
});

test('what ends after a stop makes nobody wait', () => {
  const { a, b } = world();
  expect(a.comeAndTurn(8)).toBe(true);
  a.stop();
  a.answer();
  expect(b.comeAndTurn(1)).toBe(true);
});

test('where all answers take long, those are waited for that take no longer than others', () => {
  const { clock, a, b, c } = world();
  const round = (tookMs: number) => {
    clock.spend(2);
    for (const group of [a, b]) group.come(4);
    for (const group of [a, b]) group.turn();
    clock.spend(tookMs);
    for (const group of [a, b]) group.answer();
  };
  for (let i = 0; i < 50; i++) round(9);
  clock.spend(2);
  a.comeAndTurn(8);
  clock.spend(WAIT_MS + 2);
  expect(b.comeAndTurn(4)).toBe(false);
  clock.spend(3);
  a.answer();
  expect(b.turn()).toBe(false);
  expect(a.comeAndTurn(8)).toBe(true);
  expect(b.turn()).toBe(true);
  // and who takes longer than the bounds allow is waited for by nobody, whatever the pace
  for (let i = 0; i < 200; i++) round(WAIT_MOST_MS - 1);
  a.comeAndTurn(8);
  clock.spend(WAIT_MOST_MS);
  expect(c.comeAndTurn(1)).toBe(true);
});
