import { describe, expect, test } from 'vitest';
import type { CatchingUp, LeaderRecord, PartitionRecord } from '../../../src/meta/schema.ts';
import { GroupStates } from '../../../src/placedriver/balance/group-states.ts';
import { NO_STALLS, StallWatch } from '../../../src/placedriver/balance/stalls.ts';
import type { BalanceView } from '../../../src/placedriver/balance/view.ts';

const WAIT_MS = 1_000;

/** A group of n1, n2 and n3 that is to have n4 in the place of n3. */
interface Group {
  learning?: boolean;
  at?: Omit<CatchingUp, 'replica' | 'last'> & { readonly last?: number };
  leader?: number;
  term?: number;
  /** Where its new replica comes. */
  to?: string;
}

const on = (replica: number, node = `n${replica}`) => ({ replica, node, incarnation: 'i' });

class Watched {
  readonly groups: Group[];
  readonly boots = new Map(['n1', 'n2', 'n3', 'n4', 'n5', 'n6'].map((node) => [node, 'b1']));
  frozen: string | undefined;
  readonly #watch = new StallWatch(WAIT_MS);
  #nowMs = 0;

  constructor(...groups: Group[]) {
    this.groups = groups;
  }

  /** Indexes of groups whose moves do not get on, and nodes that are given nothing. */
  after(ms: number): [number[], string[]] {
    this.#nowMs += ms;
    const view = this.#view();
    const { stalled, shut } = this.#watch.look(view, new GroupStates(view), this.#nowMs);
    return [[...stalled].map((replica) => replica / 10 - 1), [...shut]];
  }

  wakesInMs(): number | undefined {
    const view = this.#view();
    return this.#watch.look(view, new GroupStates(view), this.#nowMs).changesInMs;
  }

  #view(): BalanceView {
    const leaders = new Map<PartitionRecord, LeaderRecord>();
    const partitions = this.groups.map(
      ({ learning = true, at, leader = 1, term = 1, to = 'n4' }, index) => {
        const own = (index + 1) * 10;
        const place = { version: 1, namespace: 'default', partition: index, group: index + 1 };
        const [birth, replicas] = [
          [on(1), on(2), on(3)],
          [on(1), on(2), on(own, to)],
        ];
        const record: PartitionRecord = {
          ...{ ...place, firstSlot: 0, lastSlot: 1, birth, replicas, epoch: 2, fence: 1 },
        };
        const learners = learning ? [own] : [];
        leaders.set(record, {
          ...{ ...place, node: `n${leader}`, replica: leader, term },
          membership: { epoch: 1, voters: [1, 2, 3], learners, joint: false },
          ...(at && { catchingUp: [{ last: 100, ...at, replica: own }] }),
        });
        return { record };
      },
    );
    return {
      partitions,
      alive: [...this.boots].map(([node, bootId]) => ({ node, bootId, incarnation: 'i' })),
      damages: [],
      draining: new Set(),
      stability: { frozen: this.frozen, leaving: new Set() },
      stalls: NO_STALLS,
      leader: (record: PartitionRecord) => leaders.get(record),
    } as unknown as BalanceView;
  }
}

describe('a move that does not get on', () => {
  test('for the whole wait is told, and its node is given nothing for six more', () => {
    const cluster = new Watched({ at: { match: 0, snapshot: 0.5 } });
    expect(cluster.after(0)).toEqual([[], []]);
    expect(cluster.wakesInMs()).toBe(WAIT_MS);
    expect(cluster.after(WAIT_MS - 1)).toEqual([[], []]);
    expect(cluster.after(1)).toEqual([[0], ['n4']]);
    cluster.groups.length = 0;
    expect(cluster.after(6 * WAIT_MS - 1)).toEqual([[], ['n4']]);
    expect(cluster.wakesInMs()).toBe(1);
    expect(cluster.after(1)).toEqual([[], []]);
  });

  test('is one that comes no further than it was, however often it is tried', () => {
    const [group, cluster] = watched({ at: { match: 0, snapshot: 0.2 } });
    cluster.after(0);
    group.at = { match: 0, snapshot: 0.9 };
    expect(cluster.after(900)).toEqual([[], []]);
    for (const snapshot of [0, 0.4, 0.89]) {
      group.at = { match: 0, snapshot };
      expect(cluster.after(300)).toEqual([[], []]);
    }
    expect(cluster.after(100)).toEqual([[0], ['n4']]);
  });

  test('is not one that is sent more of the snapshot, or lacks fewer entries', () => {
    const [group, cluster] = watched({ at: { match: 0, snapshot: 0.1 } });
    cluster.after(0);
    const story = [
      { match: 0, snapshot: 0.2 },
      { match: 0, snapshot: 1 },
      { match: 50, last: 100 },
      { match: 80, last: 120 },
    ];
    for (const at of story) {
      group.at = at;
      expect(cluster.after(900)).toEqual([[], []]);
    }
    // it follows, and is as far behind as before
    group.at = { match: 180, last: 220 };
    expect(cluster.after(1_000)).toEqual([[0], ['n4']]);
  });

  test('begins anew with another leader, and when the group begins with it', () => {
    const [group, cluster] = watched({ learning: false });
    cluster.after(0);
    group.learning = true;
    expect(cluster.after(900)).toEqual([[], []]);
    group.term = 2;
    expect(cluster.after(900)).toEqual([[], []]);
    expect(cluster.after(900)).toEqual([[], []]);
    expect(cluster.after(100)).toEqual([[0], ['n4']]);
  });

  test('is not blamed on the node before the group has begun', () => {
    const cluster = new Watched({ learning: false });
    cluster.after(0);
    expect(cluster.after(WAIT_MS)).toEqual([[0], []]);
  });

  test('waits its turn while its leader’s node works on others', () => {
    const [busy, cluster] = watched({ at: { match: 0, snapshot: 0.1 } }, { learning: false });
    cluster.after(0);
    busy.at = { match: 0, snapshot: 0.2 };
    expect(cluster.after(900)).toEqual([[], []]);
    expect(cluster.after(900)).toEqual([[], []]);
    expect(cluster.after(100)).toEqual([[0], ['n4']]);
    expect(cluster.after(900)).toEqual([[0, 1], ['n4']]);
  });

  test('waits its turn while its node, or its leader’s, is busy with other snapshots', () => {
    const [first, second]: [Group, Group] = [{}, { to: 'n5' }];
    const sent = (snapshot: number) => ({ match: 0, snapshot });
    first.at = second.at = sent(0.1);
    const cluster = new Watched(first, second, {}, { to: 'n6' }, { to: 'n6', leader: 2 });
    cluster.after(0);
    first.at = second.at = sent(0.2);
    expect(cluster.after(900)).toEqual([[], []]);
    first.at = second.at = sent(0.3);
    // the last one is alone at both of its nodes
    expect(cluster.after(900)).toEqual([[4], ['n6']]);
    first.at = sent(0.4);
    expect(cluster.after(999)).toEqual([[4], ['n6']]);
    // of the two that its leader's node sends at a time one gets on no further, and nothing comes
    first.at = sent(0.5);
    expect(cluster.after(1)[0]).toEqual([1, 4]);
    expect(cluster.after(998)[0]).toEqual([1, 4]);
    first.at = sent(0.6);
    expect(cluster.after(1)[0]).toEqual([1, 3, 4]);
  });

  test('is none while nothing may move, and counts from then on', () => {
    const cluster = new Watched({});
    cluster.after(0);
    cluster.frozen = 'upgrade mode is on';
    expect(cluster.after(5 * WAIT_MS)).toEqual([[], []]);
    expect(cluster.wakesInMs()).toBeUndefined();
    cluster.frozen = undefined;
    expect(cluster.after(5 * WAIT_MS)).toEqual([[], []]);
    expect(cluster.after(WAIT_MS)).toEqual([[0], ['n4']]);
  });
});

test('a node that is started anew is tried once more, and not again and again', () => {
  const [group, cluster] = watched({});
  cluster.after(0);
  expect(cluster.after(WAIT_MS)).toEqual([[0], ['n4']]);
  cluster.groups.length = 0;
  cluster.boots.set('n4', 'b2');
  expect(cluster.after(1)).toEqual([[], []]);
  cluster.groups.push(group);
  cluster.after(0);
  expect(cluster.after(WAIT_MS)).toEqual([[0], ['n4']]);
  cluster.groups.length = 0;
  cluster.boots.set('n4', 'b3');
  expect(cluster.after(1)).toEqual([[], ['n4']]);
});

function watched(...groups: [Group, ...Group[]]): [Group, Watched] {
  return [groups[0], new Watched(...groups)];
}
