import { beforeEach, describe, expect, test } from 'vitest';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type NodeStateRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { trackNodes } from '../../../src/placedriver/chores/node-states.ts';
import { becomeMaster, register, type TestMaster, testClock, unregister } from '../master.ts';

const WAIT = 600_000;
const FIRST = 1_700_000_000_000;
let clock: ReturnType<typeof testClock>;
let meta: MemoryMeta;
let store: MetaStore;
let master: TestMaster;

beforeEach(async () => {
  clock = testClock(FIRST);
  meta = new MemoryMeta({ clock });
  store = meta.connect();
  await register(store, 'n1', 'n2', 'n3');
  master = await becomeMaster(meta, clock);
});

/** The master looks, and acts until it has nothing more to write. */
async function look(of = master): Promise<number | undefined> {
  await of.look();
  await trackNodes(of.term);
  await of.look();
  const before = meta.revision;
  const againMs = await trackNodes(of.term);
  expect(meta.revision, 'quiet when nothing changes').toBe(before);
  return againMs;
}

async function states(): Promise<Record<string, Partial<NodeStateRecord>>> {
  const { items } = await store.range(keys.nodeStates);
  return Object.fromEntries(
    items.map(({ value }) => {
      const { version: _, node, ...rest } = JSON.parse(value) as NodeStateRecord;
      return [node, rest];
    }),
  );
}

const control = async () => JSON.parse((await store.get(keys.control))!.value) as unknown;
const seen = { firstSeenMs: FIRST };

/** Node of each replica 1, 2 …; `members`: what the leader reports. */
async function partition(nodes: readonly string[], members?: readonly number[]): Promise<void> {
  const replicas = nodes.map((node, at) => ({ replica: at + 1, node, incarnation: `${node}-1` }));
  const place = { version: 1, namespace: 'default', partition: 0 };
  const record: PartitionRecord = {
    ...{ ...place, group: 1, firstSlot: 0, lastSlot: 16_383, birth: replicas, replicas },
    ...{ epoch: 1, fence: 1 },
  };
  await store.put(keys.partition('default', 0), encodeRecord(record));
  if (members === undefined) return store.delete(keys.leader('default', 0)).then(() => {});
  const membership = { epoch: 1, voters: members, learners: [], joint: false };
  const leader = { ...place, node: nodes[0], replica: 1, term: 1, membership };
  await store.put(keys.leader('default', 0), encodeRecord(leader));
}

async function drain(node: string): Promise<void> {
  const draining = { sinceMs: clock.nowMs, replicas: 1 };
  const record: NodeStateRecord = { version: 1, node, ...seen, draining };
  await store.put(keys.nodeState(node), encodeRecord(record));
}

describe('what is remembered', () => {
  test('every datanode, when it was first seen, and how many there were', async () => {
    expect(await look()).toBeUndefined();
    expect(await states()).toEqual({ n1: seen, n2: seen, n3: seen });
    const enabled = { version: 1, balance: { enabled: true } };
    expect(await control()).toEqual({ ...enabled, stableNodes: 3 });
    clock.nowMs += 1_000;
    await register(store, 'n4');
    await unregister(store, 'n1');
    await look();
    const now = clock.nowMs;
    expect(await states()).toMatchObject({ n1: { lostSinceMs: now }, n4: { firstSeenMs: now } });
    expect(await control(), 'a loss does not lower it').toEqual({ ...enabled, stableNodes: 3 });
    await register(store, 'n1');
    await look();
    expect((await states())['n1']).toEqual(seen);
    expect(await control()).toEqual({ ...enabled, stableNodes: 4 });
  });

  test('the first record has the window that is configured; a later one keeps its own', async () => {
    const balanceWindow = { fromMinute: 60, toMinute: 300 };
    const other = await becomeMaster(meta, clock, { balanceWindow });
    await look(other);
    expect(await control()).toMatchObject({ balance: { enabled: true, window: balanceWindow } });
    await register(store, 'n4');
    await look(await becomeMaster(meta, clock));
    expect(await control()).toMatchObject({ stableNodes: 4, balance: { window: balanceWindow } });
  });

  test('since when a node is away, over a change of master', async () => {
    await look();
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await unregister(store, 'n3');
    clock.nowMs += 1_000;
    await look();
    const lostSinceMs = clock.nowMs;
    clock.nowMs += WAIT - 1;
    const next = await becomeMaster(meta, clock);
    await look(next);
    expect((await states())['n3']).toEqual({ ...seen, lostSinceMs });
  });

  test('a moment that is still to come becomes now: its clock was ahead', async () => {
    await look();
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await unregister(store, 'n3');
    clock.nowMs += 50_000;
    await look();
    clock.nowMs -= 20_000;
    await look();
    expect((await states())['n3']).toEqual({ ...seen, lostSinceMs: clock.nowMs });
  });

  test('what an operator or a newer build has written beside it stays', async () => {
    await look();
    const draining = { sinceMs: 5, replicas: 2 };
    const mine = { version: 1, node: 'n2', ...seen, draining, later: 7 };
    await store.put(keys.nodeState('n2'), JSON.stringify(mine));
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await unregister(store, 'n2');
    await look();
    const lostSinceMs = clock.nowMs;
    expect((await states())['n2']).toEqual({ ...seen, draining, later: 7, lostSinceMs });
    await register(store, 'n2');
    await look();
    expect((await states())['n2']).toEqual({ ...seen, draining, later: 7 });
  });

  test('a holder of replicas that was never seen alive is lost from now on', async () => {
    await partition(['n1', 'n2', 'n9'], [1, 2, 3]);
    await look();
    expect((await states())['n9']).toEqual({ ...seen, lostSinceMs: FIRST });
  });

  test('a thousand nodes at once, in several transactions', async () => {
    await register(store, ...Array.from({ length: 1_000 }, (_, at) => `m${at}`));
    await look();
    expect(Object.keys(await states()).length).toBe(1_003);
    expect(await control()).toMatchObject({ stableNodes: 1_003 });
  });
});

describe('what is forgotten', () => {
  test('a node that holds nothing, once it has been away for the whole wait', async () => {
    await register(store, 'n4', 'n5');
    await look();
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await drain('n4');
    await unregister(store, 'n4', 'n5');
    expect(await look()).toBe(WAIT);
    clock.nowMs += WAIT - 1;
    expect(await look()).toBe(1);
    expect(Object.keys(await states())).toEqual(['n1', 'n2', 'n3', 'n4', 'n5']);
    clock.nowMs += 1;
    expect(await look()).toBeUndefined();
    expect(Object.keys(await states())).toEqual(['n1', 'n2', 'n3']);
    expect(await control(), 'the count tells of them').toMatchObject({ stableNodes: 5 });
  });

  test('never one that lives, or that a wanted record names', async () => {
    await register(store, 'n4');
    await look();
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await drain('n4');
    await unregister(store, 'n3');
    clock.nowMs += 10 * WAIT;
    await look();
    clock.nowMs += 10 * WAIT;
    expect(await look()).toBeUndefined();
    expect(Object.keys(await states())).toEqual(['n1', 'n2', 'n3', 'n4']);
  });

  test.each([
    ['a leader still has a member that no wanted record names', [1, 2, 3, 9]],
    ['nobody tells the members', undefined],
  ])('nobody while %s', async (_name, members) => {
    await register(store, 'n4');
    await look();
    await unregister(store, 'n4');
    await look();
    await partition(['n1', 'n2', 'n3'], members);
    clock.nowMs += 2 * WAIT;
    expect(await look()).toBeUndefined();
    expect(Object.keys(await states())).toContain('n4');
    await partition(['n1', 'n2', 'n3'], [1, 2, 3]);
    await look();
    expect(Object.keys(await states())).not.toContain('n4');
  });

  test.each([keys.partition('default', 1), keys.leader('default', 1)])(
    'nobody while %s cannot be read',
    async (key) => {
      await register(store, 'n4');
      await look();
      await unregister(store, 'n4');
      await look();
      await store.put(key, '{"version":1}');
      clock.nowMs += 2 * WAIT;
      await look();
      expect(Object.keys(await states())).toContain('n4');
      await store.delete(key);
      await look();
      expect(Object.keys(await states())).not.toContain('n4');
    },
  );
});

describe('what is not touched', () => {
  test('records that cannot be read, and the others are written beside them', async () => {
    await store.put(keys.control, '{"version":1}');
    await store.put(keys.nodeState('n2'), 'nothing');
    await master.look();
    await trackNodes(master.term);
    expect((await store.get(keys.control))?.value).toBe('{"version":1}');
    expect((await store.get(keys.nodeState('n2')))?.value).toBe('nothing');
    expect((await store.get(keys.nodeState('n3')))?.value).toContain('"firstSeenMs"');
    await look();
    await store.delete(keys.control);
    await store.delete(keys.nodeState('n2'));
    await look();
    expect(await states()).toEqual({ n1: seen, n2: seen, n3: seen });
    expect(await control()).toMatchObject({ stableNodes: 3 });
  });

  test('the state of a node that is registered with a record that cannot be read', async () => {
    await look();
    await store.put(keys.node('n3'), '{"version":1}');
    const next = await becomeMaster(meta, clock);
    await look(next);
    expect(await states()).toEqual({ n1: seen, n2: seen, n3: seen });
  });

  test('anything, by a deposed master that does not know it yet', async () => {
    await master.look();
    await becomeMaster(meta, clock);
    const before = meta.revision;
    expect(master.term.leadership.lost.aborted).toBe(false);
    await expect(trackNodes(master.term)).rejects.toMatchObject({ code: 'LEASE_LOST' });
    expect(meta.revision).toBe(before);
  });

  test('what somebody else has changed since it was read', async () => {
    await look();
    await unregister(store, 'n3');
    await master.look();
    await drain('n3');
    await trackNodes(master.term);
    expect((await states())['n3']).toEqual({ ...seen, draining: { sinceMs: FIRST, replicas: 1 } });
    await look();
    expect((await states())['n3']).toMatchObject({ lostSinceMs: FIRST, draining: {} });
  });
});
