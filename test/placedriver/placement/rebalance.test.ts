import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CandidateNode } from '../../../src/placedriver/placement/assignment.ts';
import { interleave } from '../../../src/placedriver/placement/interleave.ts';
import {
  firstTable,
  rebalance,
  repairTable,
  type Table,
} from '../../../src/placedriver/placement/rebalance.ts';

/** `dcs` data centres (a, b …) of `each` nodes (a1, a2 …), a host each. */
function cluster(dcs: number, each: number): CandidateNode[] {
  return Array.from({ length: dcs * each }, (_, index) => {
    const dc = String.fromCharCode(97 + Math.floor(index / each));
    return candidate(`${dc}${(index % each) + 1}`);
  });
}

function candidate(name: string, host = name): CandidateNode {
  return { node: name, dc: name[0]!, host };
}

/** Replicas that are on a node in `after` that did not hold their partition in `before`. */
const moves = (before: Table, after: Table): number =>
  after.reduce((sum, nodes, p) => sum + nodes.filter((n) => !before[p]!.includes(n)).length, 0);

function counts(nodes: readonly CandidateNode[], names: readonly string[]): Map<string, number> {
  const result = new Map(nodes.map(({ node }) => [node, 0]));
  for (const name of names) result.set(name, result.get(name)! + 1);
  return result;
}

const spread = (values: Iterable<number>): number => {
  const all = [...values];
  return Math.max(...all) - Math.min(...all);
};

/** Partitions whose replicas could be more even over the data centres. */
function violations(nodes: readonly CandidateNode[], table: Table): number {
  const dcOf = new Map(nodes.map(({ node, dc }) => [node, dc]));
  const room = counts2(nodes.map(({ dc }) => dc));
  return table.filter((holders) => {
    const held = counts2(holders.map((node) => dcOf.get(node)!));
    const of = (dc: string) => held.get(dc) ?? 0;
    return [...room.keys()].some((full) =>
      [...room.keys()].some((empty) => of(full) - of(empty) > 1 && of(empty) < room.get(empty)!),
    );
  }).length;
}

function counts2(names: readonly string[]): Map<string, number> {
  const result = new Map<string, number>();
  for (const name of names) result.set(name, (result.get(name) ?? 0) + 1);
  return result;
}

describe('a rebalanced table', () => {
  const seed = ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'].map((name) => candidate(name));

  test('leaves an interleaved one as it is', () => {
    const table = interleave(seed, 6, 3);
    expect(rebalance(seed, table, 3)).toEqual(table);
  });

  test('moves only the replicas of the node that is gone', () => {
    const before = interleave(seed, 6, 3);
    const after = rebalance(
      seed.filter(({ node }) => node !== 'b1'),
      before,
      3,
    );
    for (const [partition, holders] of before.entries()) {
      for (const node of holders) if (node !== 'b1') expect(after[partition]).toContain(node);
    }
    expect(moves(before, after)).toBe(3);
  });

  // replicas moved after the loss of a node and after an addition: at most these
  test.each([
    { dcs: 3, each: 3, partitions: 32, replicas: 3, lost: 14, added: 9 },
    { dcs: 3, each: 2, partitions: 32, replicas: 3, lost: 22, added: 13 },
    { dcs: 3, each: 4, partitions: 64, replicas: 3, lost: 18, added: 14 },
    { dcs: 2, each: 3, partitions: 16, replicas: 3, lost: 10, added: 6 },
    { dcs: 2, each: 3, partitions: 32, replicas: 2, lost: 12, added: 9 },
  ])('keeps data centres even with few moves: $dcs × $each, $partitions × $replicas', (c) => {
    const nodes = cluster(c.dcs, c.each);
    const before = firstTable(nodes, c.partitions, c.replicas);
    expect(violations(nodes, before)).toBe(0);
    for (const gone of nodes) {
      const rest = nodes.filter((node) => node !== gone);
      const after = rebalance(rest, before, c.replicas);
      expect(violations(rest, after)).toBe(0);
      expect(moves(before, after)).toBeLessThanOrEqual(c.lost);
      const back = rebalance(nodes, after, c.replicas);
      expect(violations(nodes, back)).toBe(0);
      expect(moves(after, back)).toBeLessThanOrEqual(moves(before, after));
    }
    for (const dc of new Set(nodes.map((node) => node.dc))) {
      const more = [...nodes, candidate(`${dc}${c.each + 1}`)];
      const after = rebalance(more, before, c.replicas);
      expect(violations(more, after)).toBe(0);
      expect(moves(before, after)).toBeLessThanOrEqual(c.added);
    }
  });

  test('gives two replicas one host only where there are too few hosts', () => {
    const nodes = ['a1', 'a2', 'a3', 'a4'].map((name, i) => candidate(name, `host${i >> 1}`));
    for (const holders of firstTable(nodes, 8, 2)) {
      expect(new Set(holders.map((name) => nodes.find((n) => n.node === name)!.host)).size).toBe(2);
    }
    for (const holders of firstTable(nodes, 8, 3)) expect(new Set(holders).size).toBe(3);
  });

  test('gives a node no more than its capacity while others have room', () => {
    const nodes = cluster(1, 4).map((node, i) => (i === 0 ? { ...node, capacity: 2 } : node));
    const load = counts(nodes, firstTable(nodes, 8, 3).flat());
    expect(load.get('a1')).toBe(2);
    expect(spread([load.get('a2')!, load.get('a3')!, load.get('a4')!])).toBeLessThanOrEqual(1);
  });

  test('what a node holds of other namespaces counts as well', () => {
    const nodes = cluster(1, 4).map((node, i) =>
      i === 0 ? { ...node, capacity: 4, heldElsewhere: 3 } : node,
    );
    expect(counts(nodes, firstTable(nodes, 8, 3).flat()).get('a1')).toBe(1);
  });

  test('moves replicas between nodes of one host', () => {
    const nodes = [candidate('a1', 'h1'), candidate('a2', 'h1'), candidate('a3'), candidate('a4')];
    const before = Array.from({ length: 6 }, () => ['a1', 'a3', 'a4']);
    const load = counts(nodes, rebalance(nodes, before, 3).flat());
    expect([load.get('a1'), load.get('a2')]).toEqual([3, 3]);
  });

  test('frees a node that holds more than it should, though it holds no more than others', () => {
    const nodes = cluster(1, 4).map((node, i) => (i === 0 ? { ...node, capacity: 2 } : node));
    const load = counts(nodes, rebalance(nodes, interleave(cluster(1, 4), 8, 3), 3).flat());
    expect(load.get('a1')).toBe(2);
  });

  test('makes all namespaces together more even where this one stays as it is', () => {
    const nodes = cluster(1, 3).map((node, i) => (i === 0 ? { ...node, heldElsewhere: 9 } : node));
    const load = counts(
      nodes,
      rebalance(
        nodes,
        [
          ['a1', 'a2'],
          ['a1', 'a3'],
        ],
        2,
      ).flat(),
    );
    expect(load.get('a1')).toBe(1);
    expect(spread(load.values())).toBe(1);
  });

  test('of replicas too many those go that are away, then those that a data centre has most of', () => {
    const nodes = [...cluster(2, 2), { ...candidate('c1'), closed: true }];
    expect(repairTable(nodes, [['a1', 'b1', 'c1', 'a2', 'b2']], 3)[0]).not.toContain('c1');
    expect(repairTable(cluster(2, 2), [['a1', 'a2', 'b1']], 2)[0]).toContain('b1');
    expect(repairTable(cluster(1, 5), [['a1', 'a2', 'a3', 'a4', 'a5']], 3)[0]).toEqual([
      'a1',
      'a2',
      'a3',
    ]);
  });

  test('nodes that are away do not make enough', () => {
    const nodes = [...cluster(1, 2), { ...candidate('c1'), closed: true }];
    expect(() => rebalance(nodes, [[]], 3)).toThrow('only 2 are alive');
  });

  test('says when there are too few nodes', () => {
    expect(() => rebalance(cluster(1, 2), [[]], 3)).toThrow('3 replicas need as many nodes');
  });

  test('plans 10,000 partitions on 1,000 nodes in a second', () => {
    const nodes = cluster(4, 250);
    const rest = nodes.filter(({ dc }) => dc !== 'a');
    const ms: number[] = [];
    const timed = (plan: () => Table): Table => {
      const before = process.cpuUsage();
      const table = plan();
      const { user, system } = process.cpuUsage(before);
      ms.push(Math.round((user + system) / 1_000));
      return table;
    };
    const before = timed(() => firstTable(nodes, 10_000, 3));
    const lost = timed(() => rebalance(rest, before, 3));
    timed(() => rebalance(nodes, lost, 3));
    console.log(`first table, a data centre lost, and back: ${ms.join(', ')} ms of CPU`);
    for (const each of ms) expect(each).toBeLessThan(4_000);
  });
});

describe('whatever comes and goes', () => {
  const history = fc.record({
    dcs: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
    partitions: fc.integer({ min: 1, max: 40 }),
    replicas: fc.integer({ min: 1, max: 5 }),
    events: fc.array(fc.nat(1000), { maxLength: 6 }),
  });

  test('the rules hold in their order', () => {
    let histories = 0;
    fc.assert(
      fc.property(history, ({ dcs, partitions, replicas, events }) => {
        const all = dcs.flatMap((each, dc) =>
          Array.from({ length: each }, (_, i) => candidate(`${'abcd'[dc]}${i + 1}`)),
        );
        fc.pre(all.length >= replicas);
        histories++;
        let alive = all;
        let table = firstTable(alive, partitions, replicas);
        check(alive, table, replicas);
        for (const event of events) {
          const node = all[event % all.length]!;
          const next = alive.includes(node) ? alive.filter((n) => n !== node) : [...alive, node];
          if (next.length < replicas) continue;
          alive = next;
          const after = rebalance(alive, table, replicas);
          check(alive, after, replicas);
          expect(rebalance(alive, after, replicas)).toEqual(after);
          table = after;
        }
      }),
      { numRuns: 400 },
    );
    expect(histories).toBeGreaterThan(100);
  });

  /** Hosts may reach over data centres, and nodes may hold as much as they should. */
  const narrow = fc.record({
    nodes: fc.array(
      fc.record({
        dc: fc.constantFrom('a', 'b', 'c'),
        host: fc.constantFrom('h1', 'h2', 'h3', 'h4'),
        capacity: fc.integer({ min: 1, max: 12 }),
        heldElsewhere: fc.integer({ min: 0, max: 6 }),
      }),
      { minLength: 1, maxLength: 8 },
    ),
    partitions: fc.integer({ min: 1, max: 12 }),
    replicas: fc.integer({ min: 1, max: 4 }),
    bounded: fc.boolean(),
    gone: fc.nat(100),
  });

  /** As balancing does, until it has nothing to do. */
  function evenedOut(nodes: readonly CandidateNode[], table: Table, replicas: number): Table {
    let now = table;
    for (let rounds = 0; rounds < 6; rounds++) {
      const next = rebalance(nodes, now, replicas);
      if (moves(now, next) === 0) return next;
      now = next;
    }
    throw new Error('replicas move for ever');
  }

  test('balancing comes to an end, however narrow it is', () => {
    fc.assert(
      fc.property(narrow, ({ nodes: drawn, partitions, replicas, bounded, gone }) => {
        const all = drawn.map(({ capacity, ...node }, at) => {
          return { ...node, node: `n${at}`, ...(bounded && { capacity }) };
        });
        fc.pre(all.length >= replicas);
        const first = evenedOut(all, firstTable(all, partitions, replicas), replicas);
        const rest = all.filter((_, at) => at !== gone % all.length);
        if (rest.length < replicas) return;
        const after = evenedOut(rest, repairTable(rest, first, replicas), replicas);
        evenedOut(all, after, replicas);
      }),
      { numRuns: 2_000 },
    );
  });

  test('balancing comes to an end beside nodes that keep what they hold and take nothing', () => {
    const a1 = candidate('a1');
    const four = [candidate('a2', 'a1'), candidate('a3', 'a1'), candidate('b1')];
    const beside = [a1, ...four, { ...candidate('c1'), closed: true }];
    const table = firstTable([a1, ...four], 6, 3);
    expect(rebalance(beside, table, 3)).toEqual(table);
    fc.assert(
      fc.property(narrow, fc.nat(255), ({ nodes: drawn, partitions, replicas, bounded }, shut) => {
        const all = drawn.map(({ capacity, ...node }, at) => {
          return { ...node, node: `n${at}`, ...(bounded && { capacity }) };
        });
        const some = all.map((node, at) => ({ ...node, closed: (shut & (1 << at)) !== 0 }));
        const open = some.filter(({ closed }) => !closed);
        fc.pre(open.length >= replicas);
        const before = [
          firstTable(all, partitions, replicas),
          firstTable(open, partitions, replicas),
        ];
        for (const first of before) evenedOut(all, evenedOut(some, first, replicas), replicas);
      }),
      { numRuns: 2_000 },
    );
  });

  test('each replica is on a node, and apart from others, that may take it', () => {
    fc.assert(
      fc.property(narrow, fc.nat(255), ({ nodes: drawn, partitions, replicas, bounded }, shut) => {
        const all = drawn.map(({ capacity, ...node }, at) => {
          return { ...node, node: `n${at}`, ...(bounded && { capacity }) };
        });
        const some = all.map((node, at) => ({ ...node, closed: (shut & (1 << at)) !== 0 }));
        const open = some.filter(({ closed }) => !closed);
        fc.pre(open.length >= replicas);
        const before = firstTable(all, partitions, replicas);
        for (const after of [
          rebalance(some, before, replicas),
          repairTable(some, before, replicas),
        ]) {
          checkPlaces(some, before, after, replicas);
        }
        // nothing is known of what was there: hosts are apart where there are enough
        const hosts = new Map(some.map(({ node, host }) => [node, host]));
        if (new Set(open.map(({ host }) => host)).size < replicas) return;
        for (const holders of firstTable(some, partitions, replicas)) {
          expect(new Set(holders.map((node) => hosts.get(node))).size).toBe(replicas);
        }
      }),
      { numRuns: 200 },
    );
  });

  function checkPlaces(
    nodes: readonly CandidateNode[],
    before: Table,
    after: Table,
    replicas: number,
  ): void {
    const closed = new Set(nodes.filter((node) => node.closed).map(({ node }) => node));
    for (const [partition, holders] of after.entries()) {
      expect(holders).toHaveLength(replicas);
      expect(new Set(holders).size).toBe(replicas);
      const taken = holders.filter((node) => !before[partition]!.includes(node));
      expect(taken.filter((node) => closed.has(node))).toEqual([]);
      if (holders.some((node) => !closed.has(node))) expect(closed.has(holders[0]!)).toBe(false);
    }
  }

  function check(nodes: readonly CandidateNode[], table: Table, replicas: number): void {
    for (const holders of table) {
      expect(holders).toHaveLength(replicas);
      expect(new Set(holders).size).toBe(replicas);
    }
    expect(violations(nodes, table)).toBe(0);
    const load = counts(nodes, table.flat());
    for (const dc of new Set(nodes.map((node) => node.dc))) {
      const inside = nodes.filter((node) => node.dc === dc).map(({ node }) => load.get(node)!);
      expect(spread(inside)).toBeLessThanOrEqual(1);
    }
    const evenDcs = new Set(counts2(nodes.map(({ dc }) => dc)).values()).size === 1;
    if (evenDcs) expect(spread(load.values())).toBeLessThanOrEqual(1);
    const leaders = counts(
      nodes,
      table.map((holders) => holders[0]!),
    );
    if (evenDcs) expect(spread(leaders.values())).toBeLessThanOrEqual(1);
  }
});
