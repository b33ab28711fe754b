import { describe, expect, test } from 'vitest';
import { LeaderPreference } from '../../../../src/datanode/partition/leading/leader-preference.ts';
import type { ProgressStatus, RaftStatus } from '../../../../src/datanode/raft/ready.ts';

const STEADY = 10;

const member = (replica: number, match: number, more: Partial<ProgressStatus> = {}) =>
  ({
    replica,
    match,
    state: 'replicate',
    learner: false,
    recentActive: true,
    heardLately: true,
    ...more,
  }) as ProgressStatus;

/** Replica 2 leads; replica 1 should. */
class Group {
  readonly preference = new LeaderPreference({ steadyTicks: STEADY, catchUpTicks: 2 }, () => 0);
  first: number | undefined = 1;
  settled = true;
  reachable = true;
  lastIndex = 100;
  one = member(1, 100);
  leadTransferee = 0;

  /** To whom leadership is offered at the next tick. */
  tick(): number | undefined {
    this.preference.pass();
    const progress = [this.one, member(2, this.lastIndex), member(3, this.lastIndex)];
    const { lastIndex, leadTransferee } = this;
    const to = this.preference.decide({
      self: 2,
      first: this.first,
      settled: this.settled,
      status: { lastIndex, leadTransferee, progress } as unknown as RaftStatus,
      mayLead: () => this.reachable,
    });
    if (to !== undefined) this.preference.tried();
    return to;
  }

  /** Ticks until it is offered, `most` at most. */
  ticks(most: number, each: () => void = () => {}): number {
    for (let tick = 1; tick <= most; tick++) {
      each();
      if (this.tick() !== undefined) return tick;
    }
    return Number.POSITIVE_INFINITY;
  }
}

describe('the replica that should lead', () => {
  test('is handed leadership once it could have led for an election timeout', () => {
    expect(new Group().ticks(100)).toBe(STEADY + 1);
  });

  test.each<[string, (group: Group) => void]>([
    ['leads', (group) => (group.first = 2)],
    ['is not known', (group) => (group.first = undefined)],
    ['is no member', (group) => (group.first = 9)],
    ['does not vote', (group) => (group.one = member(1, 100, { learner: true }))],
    ['is on a node that is away or stops', (group) => (group.reachable = false)],
    ['was not heard from', (group) => (group.one = member(1, 100, { recentActive: false }))],
    ['is being looked for', (group) => (group.one = member(1, 100, { state: 'probe' }))],
    ['is far behind', (group) => (group.one = member(1, 99))],
    ['is offered it already', (group) => (group.leadTransferee = 1)],
    ['waits for the members to settle', (group) => (group.settled = false)],
  ])('is not offered it when it %s', (_why, set) => {
    const group = new Group();
    set(group);
    expect(group.ticks(500)).toBe(Number.POSITIVE_INFINITY);
  });

  test('may be behind by what it makes up for in two ticks, while the log grows', () => {
    const grow = (behind: number) => {
      const group = new Group();
      return group.ticks(100, () => {
        group.lastIndex += 10;
        group.one = member(1, group.lastIndex - behind);
      });
    };
    expect(grow(20)).toBe(STEADY + 1);
    expect(grow(21)).toBe(Number.POSITIVE_INFINITY);
  });

  test('begins anew when its node was away in between', () => {
    const group = new Group();
    expect(group.ticks(STEADY)).toBe(Number.POSITIVE_INFINITY);
    group.reachable = false;
    group.tick();
    group.reachable = true;
    expect(group.ticks(100)).toBe(STEADY + 1);
  });

  test('is offered it ever more rarely when that is in vain, and soon again much later', () => {
    const group = new Group();
    const waits = Array.from({ length: 8 }, () => group.ticks(2_000));
    expect(waits.slice(1, 5)).toEqual([20, 40, 80, 160]);
    expect(waits.slice(5)).toEqual([320, 320, 320]);
    group.reachable = false;
    group.ticks(1_000);
    group.reachable = true;
    group.ticks(100);
    expect(group.ticks(100)).toBe(20);
  });

  test('is told by chance when to go, so that not all groups move at once', () => {
    const group = new Group();
    const draws: number[] = [];
    const preference = new LeaderPreference({ steadyTicks: STEADY, catchUpTicks: 2 }, (below) => {
      draws.push(below);
      return 7;
    });
    Object.assign(group, { preference });
    expect(group.ticks(100)).toBe(STEADY + 7 + 1);
    expect(draws).toEqual([STEADY]);
  });
});
