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

let store: MetaStore;
let groups: Groups;
let master: TestMaster;

beforeEach(async () => {
  const meta = new MemoryMeta({ clock: systemClock });
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

test('no replica stays after all while the members of its group are changing', async () => {
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
  const tell = async (joint: boolean) => {
    const next: LeaderRecord = { ...leader, membership: { ...leader.membership, joint } };
    await store.put(keys.leader('db1', record.partition), encodeRecord(next));
    await master.look();
  };
  const revision = picture.control()?.modRevision ?? 0;
  await tell(true);
  expect(await writeChanges(master.term, revision, [change])).toBe(0);
  await tell(false);
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
});
