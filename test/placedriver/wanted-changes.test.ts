import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/common/clock.ts';
import { MemoryMeta } from '../../src/meta/memory.ts';
import {
  type ControlRecord,
  encodeRecord,
  keys,
  type LeaderRecord,
} from '../../src/meta/schema.ts';
import type { MetaStore } from '../../src/meta/store.ts';
import type { WantedChange, WantedMove } from '../../src/placedriver/balance/plan-moves.ts';
import { createMoves } from '../../src/placedriver/chores/moves.ts';
import { createNamespace } from '../../src/placedriver/namespaces.ts';
import type { StoredPartition } from '../../src/placedriver/picture.ts';
import type { MasterTerm } from '../../src/placedriver/term.ts';
import { writeChanges } from '../../src/placedriver/wanted-changes.ts';
import { Groups } from './groups.ts';
import { becomeMaster, hooked, register, type TestMaster } from './master.ts';

/** More than one write says the order of. */
const PARTITIONS = 33;

let meta: MemoryMeta;
let store: MetaStore;
let groups: Groups;
let master: TestMaster;

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  groups = new Groups(store);
  await register(store, 'n1', 'n2', 'n3', 'n4');
  master = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
  const spec = { name: 'db1', hash: 'slots', partitions: PARTITIONS, replicas: 3 } as const;
  await createNamespace(master.term, spec);
  await groups.step();
  await master.look();
});

/** Another replica should lead each partition. */
const orders = (): WantedChange<StoredPartition>[] =>
  master.term.picture.partitions().map((partition) => {
    const { replicas } = partition.record;
    return { partition, replicas: [...replicas.slice(1), replicas[0]!] };
  });

const epochs = async () => (await groups.records()).map(({ epoch }) => epoch);
const changed = async () => (await epochs()).filter((epoch) => epoch > 1).length;

test('what was written is waited for before anything is planned on it', async () => {
  const { term } = master;
  expect(await writeChanges(term, 0, orders())).toBe(PARTITIONS);
  expect([await changed(), term.picture.isBehind]).toEqual([PARTITIONS, true]);
  await master.look();
  expect(term.picture.isBehind).toBe(false);
});

test('nothing more is written once it is master no more, though the store has not seen that', async () => {
  const lost = new AbortController();
  const { term } = master;
  const transaction: MetaStore['transaction'] = async (...asked) => {
    const result = await term.store.transaction(...asked);
    lost.abort();
    return result;
  };
  const ending: MasterTerm = {
    ...term,
    store: hooked(term.store, { transaction }),
    leadership: { ...term.leadership, lost: lost.signal },
  };
  const written = await writeChanges(ending, 0, orders());
  expect([written, await changed()]).toEqual([PARTITIONS - 1, PARTITIONS - 1]);
  expect(await writeChanges(ending, 0, orders())).toBe(0);
});

/** One replica of each of the first partitions goes, and another comes. */
const moves = (count: number): WantedChange<StoredPartition>[] =>
  master.term.picture
    .partitions()
    .slice(0, count)
    .map((partition) => {
      const [drops, ...stay] = partition.record.replicas;
      const free = ['n1', 'n2', 'n3', 'n4'].find(
        (node) => !partition.record.replicas.some((one) => one.node === node),
      )!;
      const to = { node: free, incarnation: `${free}-1` };
      const move: WantedMove = { ...{ drops, from: drops, to }, kind: 'balance', why: 'test' };
      return { partition, replicas: [...stay, to], move };
    });

test('no more than so much is written in one go, and the rest is planned anew', async () => {
  expect(await writeChanges(master.term, 0, moves(PARTITIONS))).toBe(16);
  expect(await changed()).toBe(16);
});

test('no ids are reserved once it is master no more', async () => {
  const counters = (await store.get(keys.counters))?.value;
  const lost = AbortSignal.abort();
  const over = { ...master.term, leadership: { ...master.term.leadership, lost } };
  expect(await writeChanges(over, 0, moves(1))).toBe(0);
  expect((await store.get(keys.counters))?.value).toBe(counters);
});

test('no replica stays after all while the members of its group change, or without it', async () => {
  const { picture } = master.term;
  const [partition] = picture.partitions();
  const { record } = partition!;
  const [drops, ...stay] = record.replicas;
  const move: WantedMove = {
    ...{ drops, from: drops, to: undefined, returns: [drops!] },
    kind: 'operator',
    why: 'given up',
  };
  const change = { partition: partition!, replicas: [...stay, drops!], move };
  const leader = picture.leader(record)!;
  const tell = async (told: Partial<LeaderRecord['membership']>) => {
    const next: LeaderRecord = { ...leader, membership: { ...leader.membership, ...told } };
    await store.put(keys.leader('db1', record.partition), encodeRecord(next));
    await master.look();
  };
  const revision = picture.control()?.modRevision ?? 0;
  await tell({ joint: true });
  expect(await writeChanges(master.term, revision, [change])).toBe(0);
  await tell({ voters: stay.map(({ replica }) => replica) });
  expect(await writeChanges(master.term, revision, [change])).toBe(0);
  await tell({});
  expect(await writeChanges(master.term, revision, [change])).toBe(1);
});

describe('with a node that is drained', () => {
  beforeEach(async () => {
    const draining = { sinceMs: 1, replicas: 9 };
    const state = { version: 1, node: 'n2', firstSeenMs: 1, draining };
    await store.put(keys.nodeState('n2'), encodeRecord(state));
    const calm: ControlRecord = { version: 1, stableNodes: 4, balance: { enabled: true } };
    await store.put(keys.control, encodeRecord(calm));
    await master.look();
  });

  test('nothing is planned while what was written is not seen', async () => {
    const chore = createMoves();
    await chore(master.term);
    master.term.picture.expect(keys.control, 1_000_000);
    expect(await chore(master.term)).toBeUndefined();
    expect(await changed()).toBe(0);
  });

  test('nor written when an operator asked for something while it was planned', async () => {
    const { term } = master;
    let asks = true;
    const endOfTurn = (run: () => void) => {
      if (asks) term.picture.expect(keys.control, 0);
      systemClock.endOfTurn(run);
    };
    const planning: MasterTerm = { ...term, clock: { ...systemClock, endOfTurn } };
    const chore = createMoves();
    await chore(planning);
    expect(await chore(planning)).toBe(0);
    expect(await changed()).toBe(0);
    asks = false;
    const planned = async () => {
      await chore(planning);
      return changed();
    };
    await expect.poll(planned, { timeout: 30_000 }).toBeGreaterThan(0);
  });

  test('a next master plans as the one that it is', async () => {
    const chore = createMoves();
    const before = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
    await chore(before.term);
    const next = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
    const planned = async () => {
      await next.look();
      await chore(next.term);
      return changed();
    };
    await expect.poll(planned, { timeout: 30_000 }).toBeGreaterThan(0);
  });

  test('planning that takes long is done for a fifth of the time', async () => {
    let nowMs = 0;
    const endOfTurn = (run: () => void) => {
      nowMs += 500;
      systemClock.endOfTurn(run);
    };
    const clock = { ...systemClock, endOfTurn, monotonicMs: () => nowMs };
    const slow: MasterTerm = { ...master.term, clock };
    const chore = createMoves();
    expect(await chore(slow)).toBe(0);
    await chore(slow);
    const tookMs = nowMs;
    expect(tookMs).toBeGreaterThanOrEqual(1_000);
    await master.look();
    expect(await chore(slow)).toBeGreaterThanOrEqual(4 * 1_000);
  });
});
