import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import type { KvorumError } from '../../../src/common/errors.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  type ControlRecord,
  encodeRecord,
  keys,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { createMoves } from '../../../src/placedriver/chores/moves.ts';
import { createNamespace } from '../../../src/placedriver/namespaces.ts';
import { moveRequests } from '../../../src/placedriver/operator/moves.ts';
import { Groups } from '../groups.ts';
import { becomeMaster, register, type TestMaster } from '../master.ts';

const calm: ControlRecord = { version: 1, stableNodes: 4, balance: { enabled: true } };
const first = { namespace: 'default', partition: 0 };

let store: MetaStore;
let groups: Groups;
let master: TestMaster;
let operator: ReturnType<typeof moveRequests>;

beforeEach(async () => {
  const meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  groups = new Groups(store);
  await register(store, 'n1', 'n2', 'n3', 'n4');
  await store.put(keys.control, encodeRecord(calm));
  master = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
  const { term } = master;
  await createNamespace(term, { name: 'default', hash: 'slots', partitions: 5, replicas: 3 });
  await settle();
  operator = moveRequests(term);
});

async function settle(): Promise<void> {
  await groups.step();
  await groups.step();
  await master.look();
}

async function record(): Promise<PartitionRecord> {
  return (await groups.records())[0]!;
}

const nodesOf = ({ replicas }: PartitionRecord) => replicas.map(({ node }) => node);

const refusal = (asked: Promise<void>) =>
  asked.then(
    () => 'done',
    ({ code, message }: KvorumError) => `${code} ${message}`,
  );

describe('a move', () => {
  test('puts a new replica on the other node, and balancing leaves it there', async () => {
    const before = await record();
    expect(nodesOf(before)).toEqual(['n1', 'n2', 'n3']);
    await operator.move(first, 'n3', 'n4');
    const after = await record();
    expect(nodesOf(after)).toEqual(['n1', 'n2', 'n4']);
    expect(after.epoch).toBe(2);
    expect(after.replicas[2]!.replica).toBe(16);
    expect(after.move).toMatchObject({ from: before.replicas[2], to: after.replicas[2] });
    await settle();
    const chore = createMoves();
    expect(await chore(master.term)).toBe(0);
    expect(await chore(master.term)).toBeUndefined();
    expect(await record()).toEqual(after);
    await operator.move(first, 'n4', 'n3');
    const back = await record();
    expect(nodesOf(back)).toEqual(['n1', 'n2', 'n3']);
    expect(back.replicas[2]!.replica).toBe(17);
  });

  test('that cannot be is refused, and the text says why', async () => {
    const missing = { namespace: 'default', partition: 9 };
    const asks = [
      operator.move(missing, 'n1', 'n4'),
      operator.move(first, 'n4', 'n3'),
      operator.move(first, 'n1', 'n2'),
      operator.move(first, 'n1', 'n9'),
    ];
    expect(await Promise.all(asks.map(refusal))).toEqual([
      'NOT_FOUND no partition default/9 that can be read; of default there are 0 to 4',
      'BAD_ARGUMENT from: node n4 holds no replica of default/0, whose replicas are on n1, n2 and n3',
      'BAD_ARGUMENT to: node n2 holds a replica of it already; name another',
      'NOT_FOUND to: no living node n9; there are n1, n2, n3 and n4',
    ]);
    await operator.move(first, 'n3', 'n4');
    await master.look();
    expect(await refusal(operator.move(first, 'n2', 'n3'))).toMatch(/^CONFLICT .*not finished/);
    expect((await record()).epoch).toBe(2);
  });

  test('to a node that may not hold it is refused with what it lacks', async () => {
    const [node] = master.term.picture.aliveNodes().filter((one) => one.node === 'n4');
    const namespace = master.term.picture.namespace('default')!;
    await store.put(keys.node('n4'), encodeRecord({ ...node!, capacity: 1 } as NodeRecord));
    await master.look();
    expect(await refusal(operator.move(first, 'n3', 'n4'))).toMatch(
      /^CONFLICT to: node n4 .*capacity of 1 allows; name another node, or start it with a larger/,
    );
    const tagged = { ...namespace, tags: ['ssd', 'zone:a'] };
    await store.put(keys.namespace('default'), encodeRecord(tagged));
    await master.look();
    expect(await refusal(operator.move(first, 'n3', 'n4'))).toMatch(
      /^CONFLICT to: node n4 has not the tags of default, ssd, zone:a; name a node that has them/,
    );
  });

  test('waits while a quorum could not do without the replica', async () => {
    await store.delete(keys.node('n2'));
    await master.look();
    expect(await refusal(operator.move(first, 'n3', 'n4'))).toMatch(/^CONFLICT .*too few/);
    await operator.move(first, 'n2', 'n4');
    expect(nodesOf(await record())).toEqual(['n1', 'n3', 'n4']);
  });

  test('is refused while nothing moves', async () => {
    await store.put(keys.control, encodeRecord({ ...calm, upgradeSinceMs: 1 } as ControlRecord));
    await master.look();
    expect(await refusal(operator.move(first, 'n3', 'n4'))).toMatch(/^CONFLICT .*upgrade mode/);
    await operator.transferLeader(first, 'n2');
    expect(nodesOf(await record())).toEqual(['n2', 'n1', 'n3']);
  });

  test('of a record that changed meanwhile is decided anew', async () => {
    const { modRevision, value } = (await store.get(keys.partition('default', 0)))!;
    await store.put(keys.partition('default', 0), value);
    const asked = refusal(operator.move(first, 'n3', 'n4'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await record()).epoch).toBe(1);
    await master.look();
    expect(await asked).toBe('done');
    expect((await store.get(keys.partition('default', 0)))!.modRevision).toBeGreaterThan(
      modRevision,
    );
    expect(nodesOf(await record())).toEqual(['n1', 'n2', 'n4']);
  });
});

describe('a leader', () => {
  test('is named among the members that can lead', async () => {
    await operator.transferLeader(first, 'n3');
    const named = await record();
    expect(nodesOf(named)).toEqual(['n3', 'n1', 'n2']);
    expect(named.move).toBeUndefined();
    await settle();
    await operator.transferLeader(first, 'n3');
    expect((await record()).epoch).toBe(2);
    expect(await refusal(operator.transferLeader(first, 'n4'))).toMatch(/^BAD_ARGUMENT to: /);
    await store.delete(keys.node('n2'));
    await master.look();
    expect(await refusal(operator.transferLeader(first, 'n2'))).toMatch(/^CONFLICT to: .*away/);
  });
});

describe('a replica that is given up', () => {
  test('is made anew elsewhere, or there when nowhere else', async () => {
    await operator.removeReplica(first, 'n1');
    expect(nodesOf(await record())).toEqual(['n2', 'n3', 'n4']);
    await settle();
    await store.delete(keys.node('n1'));
    await master.look();
    const before = await record();
    await operator.removeReplica(first, 'n4');
    const after = await record();
    expect(nodesOf(after)).toEqual(['n2', 'n3', 'n4']);
    expect(after.replicas[2]!.replica).toBeGreaterThan(before.replicas[2]!.replica);
  });
});

describe('a replica without which there is no quorum', () => {
  test.each([1, 2])('is not made anew where it is, as one of %i', async (replicas) => {
    const all = ['n1', 'n2', 'n3', 'n4'];
    for (const node of all.slice(replicas)) await store.delete(keys.node(node));
    await store.put(
      keys.control,
      encodeRecord({ ...calm, stableNodes: replicas } as ControlRecord),
    );
    for (const node of all) await store.delete(keys.nodeState(node));
    await store.delete(keys.namespace('default'));
    for (const { partition } of await groups.records()) {
      await store.delete(keys.partition('default', partition));
    }
    await master.look();
    await createNamespace(master.term, {
      ...{ name: 'small', hash: 'slots', partitions: 1, replicas },
    });
    await settle();
    const before = await record();
    const asked = operator.removeReplica({ namespace: 'small', partition: 0 }, 'n1');
    expect(await refusal(asked)).toMatch(/^CONFLICT no other node .* too few .*; add a node/);
    expect(await record()).toEqual(before);
  });
});

describe('who asks twice', () => {
  test('is answered from what was written, not from what was heard', async () => {
    await operator.transferLeader(first, 'n3');
    const back = operator.transferLeader(first, 'n1');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await master.look();
    await back;
    expect(nodesOf(await record())[0]).toBe('n1');
  });

  test('and a drain that was taken back begins again', async () => {
    await operator.drain('n1');
    await master.look();
    await operator.undrain('n1');
    await operator.drain('n1');
    expect((await store.get(keys.nodeState('n1')))?.value).toContain('"draining"');
    await operator.undrain('n1');
    expect((await store.get(keys.nodeState('n1')))?.value).not.toContain('"draining"');
  });
});

describe('ids', () => {
  test('that somebody else reserves at the same time are no reason to refuse', async () => {
    await Promise.all([
      operator.move(first, 'n3', 'n4'),
      operator.move({ namespace: 'default', partition: 1 }, 'n2', 'n1'),
    ]);
    const ids = (await groups.records()).flatMap(({ replicas }) => replicas);
    expect(new Set(ids.map(({ replica }) => replica)).size).toBe(ids.length);
  });
});

describe('a drained node', () => {
  test('is looked for room for without keeping others from their turns', async () => {
    const { term } = master;
    let [nowMs, turns] = [0, 0];
    const clock = {
      ...systemClock,
      monotonicMs: () => (nowMs += 10),
      endOfTurn: (run: () => void) => {
        turns++;
        systemClock.endOfTurn(run);
      },
    };
    await moveRequests({ ...term, clock }).drain('n1');
    expect(turns).toBe(1); // there is one namespace
  });

  test('is marked once, and the mark is taken back', async () => {
    await operator.drain('n1');
    await master.look();
    await operator.drain('n1');
    const state = () =>
      master.term.picture.nodeStates().find(({ record: { node } }) => node === 'n1');
    expect(state()?.record.draining?.replicas).toBe(4);
    await operator.undrain('n1');
    await master.look();
    expect(state()?.record.draining).toBeUndefined();
    expect(await refusal(operator.undrain('n1'))).toBe('NOT_FOUND node: n1 is not drained');
    expect(await refusal(operator.drain('n9'))).toBe(
      'NOT_FOUND node: no node n9; there are n1, n2, n3 and n4',
    );
  });

  test('and another at the same moment leave nodes enough: one of them is refused', async () => {
    const asked = ['n1', 'n2', 'n3', 'n4'].map((node) => operator.drain(node));
    const outcomes = await Promise.allSettled(asked);
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'CONFLICT' });
    }
  });

  test('must leave nodes enough, and room on them', async () => {
    await operator.drain('n1');
    await master.look();
    expect(await refusal(operator.drain('n2'))).toMatch(/^CONFLICT node: .*2 nodes for 3 replicas/);
    await operator.undrain('n1');
    for (const { record: state } of master.term.picture.nodeStates()) {
      await store.delete(keys.nodeState(state.node));
    }
    for (const node of master.term.picture.aliveNodes()) {
      const bounded: NodeRecord = { ...node, capacity: 4 };
      await store.put(keys.node(node.node), encodeRecord(bounded));
    }
    await master.look();
    expect(await refusal(operator.drain('n1'))).toMatch(/^CONFLICT node: .*capacity of 4/);
  });
});
