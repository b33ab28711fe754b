import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { GroupStates } from '../../../src/placedriver/balance/group-states.ts';
import { planMoves } from '../../../src/placedriver/balance/plan-moves.ts';
import { Tables } from '../../../src/placedriver/balance/tables.ts';
import { ClusterModel, LEADER_WAIT_MS, MOVES_AT_ONCE, STALL_MS, WAIT_MS } from './cluster-model.ts';

/** `dcs` data centres of `each` nodes: a1, a2 …, b1 … */
function cluster(dcs: number, each: number): ClusterModel {
  const model = new ClusterModel();
  for (let dc = 0; dc < dcs; dc++) {
    for (let i = 1; i <= each; i++) model.join(node(dc, i));
  }
  return model;
}

const node = (dc: number, i: number) => {
  const name = 'abcd'[dc]!;
  return { name: `${name}${i}`, dc: name };
};

const spread = (values: readonly number[]) => Math.max(...values) - Math.min(...values);

/** What holds after every step. */
function checkSafety(model: ClusterModel): void {
  let moving = 0;
  for (const [at, record] of model.records.entries()) {
    const nodes = record.replicas.map((replica) => replica.node);
    expect(new Set(nodes).size).toBe(nodes.length);
    const { voters, learners } = model.groups[at]!;
    const ids = record.replicas.map(({ replica }) => replica);
    const coming = ids.filter((id) => !voters.includes(id));
    const going = voters.filter((id) => !ids.includes(id));
    expect(coming.length).toBeLessThanOrEqual(1);
    expect(going.length).toBeLessThanOrEqual(1);
    expect(learners.length).toBeLessThanOrEqual(2);
    const live = [...coming, ...going].length > 0 && coming.every((id) => model.isUp(id));
    if (live && model.hasQuorum(at)) moving++;
  }
  // one that was stuck, because a node was away, goes on when it returns: none is begun meanwhile
  if (model.moves > model.movesChecked) expect(moving).toBeLessThanOrEqual(MOVES_AT_ONCE);
  model.movesChecked = model.moves;
}

/** What holds when all is quiet and every node lives. */
function checkEven(model: ClusterModel): void {
  const staying = [...model.nodes.keys()].filter((name) => !model.states.get(name)?.draining);
  const dcOf = (name: string) => model.nodes.get(name)!.tags['dc_info'] ?? '';
  const sizes = new Map<string, number>();
  for (const name of staying) sizes.set(dcOf(name), (sizes.get(dcOf(name)) ?? 0) + 1);
  for (const namespace of model.namespaces) {
    const records = model.records.filter((record) => record.namespace === namespace.name);
    const load = new Map(staying.map((name) => [name, 0]));
    const led = new Map(staying.map((name) => [name, 0]));
    for (const { replicas } of records) {
      expect(replicas).toHaveLength(namespace.replicas);
      for (const replica of replicas) load.set(replica.node, load.get(replica.node)! + 1);
      led.set(replicas[0]!.node, led.get(replicas[0]!.node)! + 1);
      const held = new Map([...sizes.keys()].map((dc) => [dc, 0]));
      for (const replica of replicas)
        held.set(dcOf(replica.node), held.get(dcOf(replica.node))! + 1);
      for (const [full, many] of held) {
        for (const [empty, few] of held) {
          const violated = many - few > 1 && few < sizes.get(empty)!;
          expect(violated, `${full} against ${empty}`).toBe(false);
        }
      }
    }
    for (const dc of sizes.keys()) {
      const inside = staying.filter((name) => dcOf(name) === dc).map((name) => load.get(name)!);
      expect(spread(inside)).toBeLessThanOrEqual(1);
    }
    if (new Set(sizes.values()).size === 1) {
      expect(spread([...load.values()])).toBeLessThanOrEqual(1);
      expect(spread([...led.values()])).toBeLessThanOrEqual(1);
    }
  }
}

const ROUNDS = 400;

function settle(model: ClusterModel): void {
  expect(model.settle(ROUNDS, () => checkSafety(model))).toBe(true);
  expect(model.look()).toBe(0);
}

describe('replicas move', () => {
  // the clusters and bounds of the placement's tests: the same numbers, step by step
  test.each([
    { dcs: 3, each: 3, partitions: 32, replicas: 3, lost: 14, added: 9 },
    { dcs: 3, each: 2, partitions: 32, replicas: 3, lost: 22, added: 13 },
    { dcs: 3, each: 4, partitions: 64, replicas: 3, lost: 18, added: 14 },
    { dcs: 2, each: 3, partitions: 16, replicas: 3, lost: 10, added: 6 },
    { dcs: 2, each: 3, partitions: 32, replicas: 2, lost: 12, added: 9 },
  ])('as few as planned: $dcs × $each, $partitions × $replicas', (c) => {
    const model = cluster(c.dcs, c.each);
    model.create({ name: 'default', partitions: c.partitions, replicas: c.replicas });
    settle(model);
    checkEven(model);
    expect(model.moves).toBe(0);
    const held = model.held('a1');
    model.die('a1');
    settle(model);
    expect(model.moves).toBe(0);
    model.nowMs += WAIT_MS;
    settle(model);
    if (c.replicas > 2) {
      expect(model.held('a1')).toBe(0);
      expect(model.moves).toBe(held);
      expect(model.moves).toBeLessThanOrEqual(c.lost);
    }
    const lost = model.moves;
    model.join(node(0, 1));
    settle(model);
    checkEven(model);
    expect(model.moves - lost).toBeLessThanOrEqual(held);
    const back = model.moves;
    model.join(node(0, c.each + 1));
    settle(model);
    checkEven(model);
    expect(model.moves - back).toBeLessThanOrEqual(c.added);
  });

  test('away from a node that is drained, and its leaders at once', () => {
    const model = cluster(1, 4);
    model.create({ name: 'default', partitions: 16, replicas: 3 });
    settle(model);
    model.drain('a2');
    model.look();
    expect(model.records.filter(({ replicas }) => replicas[0]!.node === 'a2')).toEqual([]);
    const held = 12;
    settle(model);
    expect(model.held('a2')).toBe(0);
    expect(model.moves).toBe(held);
    checkEven(model);
    model.undrain('a2');
    settle(model);
    expect(model.held('a2')).toBe(held);
    checkEven(model);
  });
});

/** Also what was shut for a while, because it could not be filled. */
function settleForGood(model: ClusterModel): void {
  settle(model);
  while (model.shut.size > 0) {
    model.nowMs += 7 * STALL_MS;
    settle(model);
  }
}

describe('a node that cannot be filled', () => {
  function begun(): ClusterModel {
    const model = cluster(1, 4);
    model.create({ name: 'default', partitions: 16, replicas: 3 });
    settle(model);
    model.full.add('a5');
    model.join(node(0, 5));
    for (let round = 0; round < 20; round++) {
      model.look();
      model.step();
      checkSafety(model);
    }
    expect(model.held('a5')).toBe(MOVES_AT_ONCE);
    return model;
  }

  test('holds others up no longer than the wait; its groups stay as they were', () => {
    const model = begun();
    const voters = () => model.groups.map((group) => [...group.voters].sort());
    const before = voters();
    const held = model.held('a2');
    model.drain('a2');
    settle(model);
    expect(model.held('a2')).toBe(held);
    model.nowMs += STALL_MS;
    model.look();
    expect([model.givenUp, model.held('a5')]).toEqual([MOVES_AT_ONCE, 0]);
    expect(voters()).toEqual(before);
    settle(model);
    expect([model.held('a2'), model.held('a5')]).toEqual([0, 0]);
    expect(model.givenUp).toBe(MOVES_AT_ONCE);
  });

  test('is tried again after a while, and filled when it can be', () => {
    const model = begun();
    model.nowMs += STALL_MS;
    settle(model);
    expect(model.held('a5')).toBe(0);
    model.full.clear();
    model.nowMs += 6 * STALL_MS;
    settle(model);
    expect(model.held('a5')).toBeGreaterThan(8);
    checkEven(model);
  });

  test('keeps no replica that is lost meanwhile from being made elsewhere', () => {
    const model = begun();
    model.die('a1');
    model.nowMs += WAIT_MS;
    settle(model);
    expect([model.held('a1'), model.held('a5')]).toEqual([0, 0]);
    for (const { voters } of model.groups) {
      expect(voters.filter((id) => model.isUp(id))).toHaveLength(3);
    }
  });

  test('is left alone where nobody else could take what it should: nothing is given up twice', () => {
    const model = cluster(1, 4);
    model.create({ name: 'default', partitions: 4, replicas: 3 });
    settle(model);
    model.full.add('a4');
    model.namespaces[0]!.replicas = 4;
    settle(model);
    model.nowMs += STALL_MS;
    settle(model);
    expect(model.givenUp).toBeGreaterThan(0);
    expect(model.held('a4')).toBe(3);
    const { givenUp } = model;
    model.nowMs += STALL_MS;
    settle(model);
    expect(model.givenUp).toBe(givenUp);
    model.full.clear();
    settleForGood(model);
    expect(model.held('a4')).toBe(4);
  });
});

describe('a node that came back empty and cannot be filled', () => {
  /** All of its replicas are to be given up. */
  function stalled() {
    const model = cluster(1, 5);
    model.create({ name: 'default', partitions: 32, replicas: 3 });
    settle(model);
    const held = model.held('a2');
    model.full.add('a2');
    model.wipe('a2');
    model.repair(held);
    for (let round = 0; round < 3; round++) {
      model.look();
      model.step();
    }
    expect(model.held('a2')).toBe(held);
    model.nowMs += STALL_MS;
    return { model, held };
  }

  test('has its replicas made elsewhere a few at a time, as others move', () => {
    const { model, held } = stalled();
    expect(held).toBeGreaterThan(2 * MOVES_AT_ONCE);
    model.look();
    expect(model.givenUp).toBe(MOVES_AT_ONCE);
    model.look();
    expect(model.givenUp).toBe(MOVES_AT_ONCE);
    for (let round = 0; round < held; round++) {
      model.step();
      model.look();
    }
    expect([model.givenUp, model.held('a2')]).toEqual([held, 0]);
  });

  test('has also those made elsewhere that it was not to get again yet', () => {
    const model = cluster(1, 5);
    model.create({ name: 'default', partitions: 32, replicas: 3 });
    settle(model);
    const held = model.held('a2');
    model.full.add('a2');
    model.wipe('a2');
    for (let round = 0; round < 3; round++) {
      expect(model.repair()).toBe(round === 0 ? MOVES_AT_ONCE : 0);
      model.look();
      model.step();
    }
    model.nowMs += STALL_MS;
    for (let round = 0; round < held; round++) {
      model.look();
      model.step();
    }
    expect(model.held('a2')).toBe(0);
    expect(model.givenUp).toBe(MOVES_AT_ONCE);
    for (const { voters } of model.groups) {
      expect(voters.filter((id) => model.isUp(id))).toHaveLength(3);
    }
  });

  test('takes a step of the plan for each replica that is made elsewhere', () => {
    const { model } = stalled();
    const view = model.view();
    const states = new GroupStates(view);
    const coming = view.partitions.flatMap(({ record }) => states.arriving(record));
    const stalls = { ...view.stalls, stalled: new Set(coming.map(({ replica }) => replica)) };
    const asked = vi.spyOn(Tables.prototype, 'elsewhere');
    const steps = planMoves({ ...view, stalls });
    const each: number[] = [];
    for (let done = false; !done; each.push(asked.mock.calls.length)) {
      asked.mockClear();
      done = steps.next().done === true;
    }
    asked.mockRestore();
    expect(each.filter((calls) => calls > 0)).toEqual(Array(MOVES_AT_ONCE).fill(1));
  });
});

test('a node that came back empty is filled a few at a time, and lost nodes do not wait for it', () => {
  const model = cluster(1, 7);
  model.create({ name: 'default', partitions: 32, replicas: 5 });
  settle(model);
  const held = model.held('a2');
  model.die('a1');
  model.wipe('a2');
  model.nowMs += WAIT_MS;
  expect(model.repair()).toBe(MOVES_AT_ONCE);
  model.look();
  expect(model.moves).toBe(MOVES_AT_ONCE);
  expect([model.repair(), model.look()]).toEqual([0, 0]);
  for (let round = 0; round < 4 * held; round++) {
    model.repair();
    model.look();
    model.step();
  }
  expect(model.held('a1')).toBe(0);
  for (const { voters } of model.groups) {
    expect(voters.filter((id) => model.isUp(id))).toHaveLength(5);
  }
});

test('a replica that was to go stays when one that was to stay is lost before', () => {
  const model = cluster(1, 4);
  model.create({ name: 'default', partitions: 4, replicas: 3 });
  settle(model);
  const voters = model.groups.map((group) => [...group.voters]);
  model.namespaces[0]!.replicas = 2;
  model.look();
  const lost = model.records[0]!.replicas[1]!.node;
  model.die(lost);
  settle(model);
  model.nowMs += WAIT_MS;
  settle(model);
  expect(model.held(lost)).toBe(0);
  for (const [at, { replicas }] of model.records.entries()) {
    const ids = replicas.map(({ replica }) => replica);
    expect(ids.filter((id) => model.isUp(id))).toHaveLength(2);
    expect([...model.groups[at]!.voters].sort()).toEqual([...ids].sort());
  }
  expect(voters[0]).toEqual(expect.arrayContaining(model.groups[0]!.voters));
});

describe('who should lead', () => {
  test('is nobody else while a node is away for a moment only', () => {
    const model = cluster(1, 4);
    model.create({ name: 'default', partitions: 16, replicas: 3 });
    settle(model);
    model.die('a1');
    expect(model.look()).toBe(0);
    model.join(node(0, 1));
    expect(model.look()).toBe(0);
    model.die('a1');
    model.nowMs += LEADER_WAIT_MS - 1;
    expect(model.look()).toBe(0);
    model.nowMs += 1;
    model.look();
    const led = (name: string) =>
      model.records.filter(({ replicas }) => replicas[0]!.node === name).length;
    expect(led('a1')).toBe(0);
    expect(spread(['a2', 'a3', 'a4'].map(led))).toBeLessThanOrEqual(1);
  });

  test('changes at once on a node that is drained, another being away or not', () => {
    const model = cluster(1, 4);
    model.create({ name: 'default', partitions: 16, replicas: 3 });
    settle(model);
    model.die('a1');
    const kept = model.records.filter(({ replicas }) => replicas[0]!.node === 'a1').length;
    model.drain('a2');
    model.look();
    const leaders = model.records.map(({ replicas }) => replicas[0]!.node);
    expect(leaders.filter((name) => name === 'a2')).toEqual([]);
    expect(leaders.filter((name) => name === 'a1')).toHaveLength(kept);
  });
});

describe('whatever comes and goes', () => {
  const lifetime = fc.record({
    dcs: fc.integer({ min: 1, max: 3 }),
    each: fc.integer({ min: 2, max: 4 }),
    namespaces: fc.array(
      fc.record({
        partitions: fc.integer({ min: 1, max: 12 }),
        replicas: fc.integer({ min: 1, max: 5 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    events: fc.array(
      fc.record({
        kind: fc.constantFrom(
          'die',
          'die',
          'return',
          'join',
          'drain',
          'undrain',
          'wait',
          'count',
          'fill',
        ),
        who: fc.nat(1_000),
        /** Looks and steps before the next event; which groups step is drawn as well. */
        rounds: fc.nat(6),
        slow: fc.nat(3),
      }),
      { maxLength: 14 },
    ),
  });

  test('nothing is put at risk, and it ends even and quiet', () => {
    let moves = 0;
    fc.assert(
      fc.property(lifetime, ({ dcs, each, namespaces, events }) => {
        const model = cluster(dcs, each);
        let joined = each;
        fc.pre(namespaces.every(({ replicas }) => replicas <= dcs * each));
        for (const [i, wanted] of namespaces.entries()) model.create({ name: `n${i}`, ...wanted });
        for (const { kind, who, rounds, slow } of events) {
          const all = [...model.states.keys()].sort();
          const name = all[who % all.length]!;
          const replicas = Math.max(...model.namespaces.map((namespace) => namespace.replicas));
          const staying = all.filter((one) => one !== name && !model.states.get(one)?.draining);
          const alive = model.nodes.has(name);
          const namespace = model.namespaces[who % model.namespaces.length]!;
          if (kind === 'die' && alive) model.die(name);
          else if (kind === 'return' && !alive) model.join({ name, dc: name[0]! });
          else if (kind === 'join' && joined < 6) model.join(node(who % dcs, ++joined));
          else if (kind === 'drain' && staying.length >= replicas) model.drain(name);
          else if (kind === 'undrain') model.undrain(name);
          else if (kind === 'wait') model.nowMs += WAIT_MS;
          else if (kind === 'fill') {
            if (!model.full.delete(name)) model.full.add(name);
          } else if (kind === 'count' && staying.length > 0) {
            namespace.replicas = 1 + (who % Math.min(5, staying.length));
          }
          for (let round = 0; round < rounds; round++) {
            model.look();
            checkSafety(model);
            model.step((at) => (at + round) % (slow + 1) === 0);
            checkSafety(model);
          }
          model.nowMs += 1_000;
        }
        for (const name of model.states.keys()) {
          if (!model.nodes.has(name)) model.join({ name, dc: name[0]! });
        }
        model.full.clear();
        const count = () => model.records.flatMap((record) => record.replicas).length;
        const [before, replicasBefore] = [model.moves, count()];
        settleForGood(model);
        const drained = [...model.states.values()].filter(({ draining }) => draining);
        const staying = model.states.size - drained.length;
        if (model.namespaces.every(({ replicas }) => replicas <= staying)) checkEven(model);
        // each replica there was goes at most once, each that is there comes and moves at most once
        expect(model.moves - before).toBeLessThanOrEqual(replicasBefore + 2 * count());
        moves += model.moves;
      }),
      { numRuns: 150 },
    );
    expect(moves).toBeGreaterThan(300);
  });
});
