import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type {
  ControlRecord,
  NodeRecord,
  NodeStateRecord,
  PartitionRecord,
} from '../../../src/meta/schema.ts';
import { assess, type Stability } from '../../../src/placedriver/stability/stability.ts';

const NOW = 1_700_000_000_000;
const WAIT = 600_000;
const MIDNIGHT_TO_NOW = NOW % 86_400_000;

interface Node {
  /** How long it has been away, in ms; alive when absent. */
  readonly awayMs?: number;
  /** Away, and the master has not noted it yet. */
  readonly unnoted?: boolean;
  readonly writtenOff?: boolean;
  readonly draining?: boolean;
  /** Holds no replica. */
  readonly empty?: boolean;
  /** Its state is not written yet. */
  readonly stateless?: boolean;
}

interface Situation {
  readonly nodes: Readonly<Record<string, Node>>;
  readonly stable?: number;
  readonly control?: Partial<ControlRecord>;
  readonly settled?: boolean;
  readonly wiped?: string;
}

const isAway = (node: Node) => node.awayMs !== undefined || node.unnoted === true;

function judge({ nodes, stable, control, settled = true, wiped }: Situation): Stability {
  const entries = Object.entries(nodes);
  const states = entries
    .filter(([, { stateless }]) => !stateless)
    .map(
      ([node, { awayMs, writtenOff, draining }]): NodeStateRecord => ({
        ...{ version: 1, node, firstSeenMs: 0 },
        ...(awayMs !== undefined && { lostSinceMs: NOW - awayMs }),
        ...(writtenOff && { writtenOff }),
        ...(draining && { draining: { sinceMs: 0, replicas: 3 } }),
      }),
    );
  const holders = entries.filter(([, { empty }]) => !empty);
  const replicas = holders.map(([node], at) => ({ replica: at + 1, node, incarnation: 'i' }));
  const record = { namespace: 'default', partition: 7, replicas } as unknown as PartitionRecord;
  return assess({
    alive: entries
      .filter(([, node]) => !isAway(node))
      .map(([node]) => ({ node, incarnation: node === wiped ? 'j' : 'i' }) as NodeRecord),
    states,
    control: {
      ...{ version: 1, stableNodes: stable ?? entries.length, balance: { enabled: true } },
      ...control,
    },
    partitions: [record],
    isSettled: () => settled,
    nowMs: NOW,
    migrateWaitMs: WAIT,
  });
}

const away = (awayMs: number): Node => ({ awayMs });

describe('all is well', () => {
  test('replicas may move, also to be more even', () => {
    const nodes = { n1: {}, n2: {}, n3: {}, n4: { empty: true } };
    expect(judge({ nodes })).toEqual({
      frozen: undefined,
      leaving: new Set(),
      unbalanced: undefined,
      changesInMs: undefined,
    });
  });

  test('a node that is back counts as alive before its state says so', () => {
    const view = { n1: {}, n2: {}, n3: {} };
    const states = [{ version: 1, node: 'n1', firstSeenMs: 0, lostSinceMs: 1 }];
    const verdict = assess({
      alive: Object.keys(view).map((node) => ({ node, incarnation: 'i' }) as NodeRecord),
      states,
      control: { version: 1, stableNodes: 3, balance: { enabled: true } },
      partitions: [],
      isSettled: () => true,
      nowMs: NOW,
      migrateWaitMs: WAIT,
    });
    expect(verdict.frozen).toBeUndefined();
    expect(verdict.unbalanced).toBeUndefined();
    expect(verdict.leaving.size).toBe(0);
  });
});

describe('frozen', () => {
  test('half of the nodes away: nothing moves, and the text says what to do', () => {
    const nodes = { n1: {}, n2: {}, n3: away(2 * WAIT), n4: away(2 * WAIT) };
    for (const stable of [4, 3]) {
      const { frozen, leaving, unbalanced, changesInMs } = judge({ nodes, stable });
      expect(frozen).toContain('POST /stable/nodenum?number=2');
      expect(unbalanced).toBe(frozen);
      expect(leaving.size).toBe(0);
      expect(changesInMs).toBeUndefined();
    }
    expect(judge({ nodes }).frozen).toContain('only 2 of 4 stable datanodes are alive');
    expect(judge({ nodes, stable: 3 }).frozen).toContain('2 of 4 datanodes are away (n3, n4)');
  });

  test('half of what was once stable is alive, though the rest is long forgotten', () => {
    const nodes = { n1: {}, n2: {}, n3: {} };
    expect(judge({ nodes, stable: 6 }).frozen).toContain('only 3 of 6');
    expect(judge({ nodes, stable: 5 }).frozen).toBeUndefined();
  });

  test('nodes that an operator has written off, and a lowered count, freeze nothing', () => {
    const gone = { awayMs: 2 * WAIT, writtenOff: true };
    const nodes = { n1: {}, n2: {}, n3: gone, n4: gone };
    const { frozen, leaving } = judge({ nodes, stable: 2 });
    expect(frozen).toBeUndefined();
    expect([...leaving]).toEqual(['n3', 'n4']);
    expect(judge({ nodes, stable: 4 }).frozen).toBeDefined();
    const half = { ...nodes, n2: away(5), n5: { empty: true } };
    expect(judge({ nodes: half, stable: 2 }).frozen).toBeUndefined();
    const lessLeft = { n1: {}, n2: away(5), n3: gone, n4: gone };
    expect(judge({ nodes: lessLeft, stable: 1 }).frozen).toContain('1 of 2 datanodes are away');
  });

  test('upgrade mode, whatever else', () => {
    const nodes = { n1: {}, n2: {}, n3: away(2 * WAIT), n4: { draining: true }, n5: {} };
    const { frozen, leaving } = judge({ nodes, control: { upgradeSinceMs: 5 } });
    expect(frozen).toContain('POST /cluster/upgrade/done');
    expect(leaving.size).toBe(0);
  });

  test('no record of the switches', () => {
    const nothing = { alive: [], states: [], partitions: [], control: undefined };
    const verdict = assess({ ...nothing, isSettled: () => true, nowMs: NOW, migrateWaitMs: WAIT });
    expect(verdict.frozen).toContain("master's log");
  });

  test('a holder that has no state yet and is not alive counts as away', () => {
    const lost: Node = { stateless: true, unnoted: true };
    expect(judge({ nodes: { n1: {}, n2: lost }, stable: 1 }).frozen).toContain('(n2)');
    const three = judge({ nodes: { n1: {}, n2: {}, n3: lost } });
    expect(three.frozen).toBeUndefined();
    expect(three.leaving.size).toBe(0);
    expect(three.unbalanced).toContain('n3');
  });
});

describe('leaving', () => {
  test('a lost node once the wait is over, to the millisecond', () => {
    const nodes = (awayMs: number) => ({ n1: {}, n2: {}, n3: away(awayMs) });
    const before = judge({ nodes: nodes(WAIT - 1) });
    expect(before.frozen).toBeUndefined();
    expect(before.leaving.size).toBe(0);
    expect(before.changesInMs).toBe(1);
    expect(before.unbalanced).toContain('in 1 s');
    const after = judge({ nodes: nodes(WAIT) });
    expect([...after.leaving]).toEqual(['n3']);
    expect(after.changesInMs).toBeUndefined();
    expect(after.unbalanced).toContain('n3');
  });

  test('of several the answer changes with the next', () => {
    const nodes = { n1: {}, n2: {}, n3: {}, n4: {}, n5: {}, n6: away(1_000), n7: away(5_000) };
    expect(judge({ nodes }).changesInMs).toBe(WAIT - 5_000);
  });

  test('draining ones at once, alive or not; once empty they are none of the cluster', () => {
    const nodes = { n1: {}, n2: {}, n3: {}, n4: { draining: true } };
    const { leaving, unbalanced } = judge({ nodes });
    expect([...leaving]).toEqual(['n4']);
    expect(unbalanced).toBe('datanodes are being drained: n4');
    const lost = judge({ nodes: { ...nodes, n4: { draining: true, awayMs: 5 } } });
    expect([...lost.leaving]).toEqual(['n4']);
    const empty = { draining: true, empty: true };
    const drained = judge({ nodes: { ...nodes, n4: empty, n5: { ...empty, awayMs: 5 } } });
    expect([...drained.leaving]).toEqual(['n4', 'n5']);
    expect(drained.unbalanced).toBeUndefined();
    expect(drained.changesInMs).toBeUndefined();
  });
});

describe('unbalanced', () => {
  const nodes = { n1: {}, n2: {}, n3: {} };

  test('when switched off', () => {
    const control = { balance: { enabled: false } };
    expect(judge({ nodes, control }).unbalanced).toContain('POST /cluster/balance?enable=true');
  });

  test('outside the window; the answer changes at its edges', () => {
    const minute = Math.floor(MIDNIGHT_TO_NOW / 60_000);
    const toEdge = (to: number) => to * 60_000 - MIDNIGHT_TO_NOW;
    const closed = { fromMinute: minute + 10, toMinute: minute + 20 };
    const shut = judge({ nodes, control: { balance: { enabled: true, window: closed } } });
    expect(shut.unbalanced).toMatch(/only from \d\d:\d\d-\d\d:\d\d UTC$/);
    expect(shut.changesInMs).toBe(toEdge(minute + 10));
    const open = { fromMinute: minute - 10, toMinute: minute + 20 };
    const free = judge({ nodes, control: { balance: { enabled: true, window: open } } });
    expect(free.unbalanced).toBeUndefined();
    expect(free.changesInMs).toBe(toEdge(minute + 20));
  });

  test('while a group is not settled, or a replica is not where its record says', () => {
    const text = 'replicas are being made, moved or removed: default/7';
    expect(judge({ nodes, settled: false }).unbalanced).toBe(text);
    expect(judge({ nodes, wiped: 'n2' }).unbalanced).toBe(text);
    expect(judge({ nodes, wiped: 'n2' }).frozen).toBeUndefined();
  });
});

describe('whatever the situation', () => {
  const node = fc.record(
    {
      awayMs: fc.integer({ min: -5_000, max: 2 * WAIT }),
      unnoted: fc.boolean(),
      writtenOff: fc.boolean(),
      draining: fc.boolean(),
      empty: fc.boolean(),
      stateless: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const situation = fc.record({
    nodes: fc.dictionary(fc.constantFrom(...'abcdefgh'), node, { minKeys: 1 }),
    stable: fc.integer({ min: 0, max: 10 }),
    settled: fc.boolean(),
    control: fc.record(
      {
        upgradeSinceMs: fc.constant(5),
        balance: fc.record({ enabled: fc.boolean() }),
      },
      { requiredKeys: [] },
    ),
  });

  test('with half or more lost nothing moves, unless an operator has written them off', () => {
    fc.assert(
      fc.property(situation, (one) => {
        const known = Object.values(one.nodes).filter(
          ({ draining, empty, stateless }) => !(draining && empty && !stateless),
        );
        const seen = known.filter((each) => !(isAway(each) && each.stateless && each.empty));
        const counted = seen.filter(
          (each) => !(isAway(each) && each.writtenOff && !each.stateless),
        );
        const lost = counted.filter(isAway).length;
        const alive = Object.values(one.nodes).filter((each) => !isAway(each)).length;
        const half = (lost > 0 && lost * 2 >= counted.length) || alive * 2 <= one.stable;
        const { frozen } = judge(one);
        expect(frozen !== undefined).toBe(half || one.control.upgradeSinceMs !== undefined);
      }),
      { numRuns: 500 },
    );
  });

  test('frozen, nobody leaves and time changes nothing; else only draining and long lost leave', () => {
    fc.assert(
      fc.property(situation, (one) => {
        const { frozen, leaving, unbalanced, changesInMs } = judge(one);
        if (frozen !== undefined) {
          expect([leaving.size, unbalanced, changesInMs]).toEqual([0, frozen, undefined]);
          return;
        }
        for (const [name, { draining, awayMs, stateless }] of Object.entries(one.nodes)) {
          const due = !stateless && (draining === true || (awayMs ?? 0) >= WAIT);
          expect(leaving.has(name)).toBe(due);
        }
        if (unbalanced === undefined) {
          expect(one.settled && one.control.balance?.enabled !== false).toBe(true);
        }
        if (changesInMs !== undefined) expect(changesInMs).toBeGreaterThan(0);
      }),
      { numRuns: 500 },
    );
  });
});
