import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { type ControlRecord, encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { createMoves } from '../../../src/placedriver/chores/moves.ts';
import { PlacedriverCoordinator } from '../../../src/placedriver/coordinator.ts';
import type { PlacementSettings } from '../../../src/placedriver/term.ts';
import { Groups } from '../groups.ts';
import { becomeMaster, register } from '../master.ts';

const PARTITIONS = 12;
const MOVES_AT_ONCE = 3;
const WITHIN = { timeout: 30_000 };
const calm: ControlRecord = { version: 1, stableNodes: 4, balance: { enabled: true } };

let meta: MemoryMeta;
let store: MetaStore;
let groups: Groups;
let running: PlacedriverCoordinator[];

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  groups = new Groups(store);
  groups.start();
  running = [];
  await register(store, 'n1', 'n2', 'n3', 'n4');
  await store.put(keys.control, encodeRecord(calm));
});

afterEach(async () => {
  await Promise.all(running.map((coordinator) => coordinator.stop()));
  await groups.stop();
});

function start(name: string, placement: Partial<PlacementSettings> = {}) {
  const client = meta.connect();
  const coordinator = new PlacedriverCoordinator({
    ...{ store: client, clock: systemClock, random: seededRandom(name), logger: silentLogger },
    ...{ name, leaseTtlMs: 300, default: { nodes: 4, partitions: PARTITIONS, replicas: 3 } },
    placement: { planDelayMs: 5, movesAtOnceMax: MOVES_AT_ONCE, ...placement },
  });
  coordinator.start();
  running.push(coordinator);
  return { coordinator, client };
}

async function held(node: string): Promise<number> {
  const records = await groups.records();
  return records.flatMap(({ replicas }) => replicas.filter((one) => one.node === node)).length;
}

async function isSettled(): Promise<boolean> {
  const leaders = await groups.leaders();
  const records = await groups.records();
  const done = records.filter(
    (record) => leaders.get(record.group)?.membership.epoch === record.epoch,
  );
  return records.length === PARTITIONS && done.length === PARTITIONS;
}

/** Nothing more is written for a while. */
async function isQuiet(): Promise<boolean> {
  const epochs = async () => (await groups.records()).map(({ epoch }) => epoch);
  const before = await epochs();
  await new Promise((resolve) => setTimeout(resolve, 200));
  return JSON.stringify(before) === JSON.stringify(await epochs());
}

test('a drained node is emptied a few replicas at a time, and then nothing moves', async () => {
  const { coordinator } = start('pd1');
  await expect.poll(isSettled, WITHIN).toBe(true);
  const before = await groups.records();
  groups.mostMoving = 0;
  await coordinator.operator!.drain('n2');
  await expect.poll(() => held('n2'), WITHIN).toBe(0);
  await expect.poll(isSettled, WITHIN).toBe(true);
  expect(groups.mostMoving).toBeGreaterThan(0);
  expect(groups.mostMoving).toBeLessThanOrEqual(MOVES_AT_ONCE);
  const after = await groups.records();
  const ids = after.flatMap(({ replicas }) => replicas.map(({ replica }) => replica));
  expect(new Set(ids).size).toBe(3 * PARTITIONS);
  for (const [at, { replicas, move }] of after.entries()) {
    const kept = before[at]!.replicas.filter(({ node }) => node !== 'n2');
    expect(replicas).toEqual(expect.arrayContaining([...kept]));
    if (kept.length === 2) expect(move).toMatchObject({ from: { node: 'n2' }, why: /drained/ });
    else expect(move).toBeUndefined();
  }
  expect(await isQuiet()).toBe(true);
});

test('a master that is killed in the middle of a move leaves it to the next', async () => {
  const first = start('pd1');
  await expect.poll(isSettled, WITHIN).toBe(true);
  groups.paused = true;
  const all = await held('n2');
  await first.coordinator.operator!.drain('n2');
  await expect.poll(() => held('n2'), WITHIN).toBe(all - MOVES_AT_ONCE);
  const begun = (await groups.records()).filter(({ move }) => move !== undefined);
  expect(begun).toHaveLength(MOVES_AT_ONCE);
  first.client.crash();
  const second = start('pd2');
  await expect.poll(() => second.coordinator.isMaster, WITHIN).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 100));
  // what the first began still goes on, and takes the room there is
  expect(await held('n2')).toBe(all - MOVES_AT_ONCE);
  groups.paused = false;
  await expect.poll(() => held('n2'), WITHIN).toBe(0);
  await expect.poll(isSettled, WITHIN).toBe(true);
  for (const { partition, replicas } of begun) {
    const after = (await groups.records()).find((record) => record.partition === partition)!;
    const ids = (all: readonly { replica: number }[]) => all.map(({ replica }) => replica).sort();
    expect(ids(after.replicas)).toEqual(ids(replicas));
  }
  expect(await isQuiet()).toBe(true);
});

test('to look at all that is known takes several turns', async () => {
  const { term } = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
  const chore = createMoves();
  await chore(term);
  const endOfTurn = vi.spyOn(systemClock, 'endOfTurn');
  await chore(term);
  expect(endOfTurn.mock.calls.length).toBeGreaterThanOrEqual(2);
  endOfTurn.mockRestore();
});

test('a master that was deposed writes nothing', async () => {
  start('pd1');
  await expect.poll(isSettled, WITHIN).toBe(true);
  await running.pop()!.stop();
  const deposed = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
  await becomeMaster(meta, systemClock);
  await store.put(
    keys.nodeState('n2'),
    encodeRecord({
      ...{ version: 1, node: 'n2', firstSeenMs: 1, draining: { sinceMs: 1, replicas: 9 } },
    } as { version: number }),
  );
  await deposed.look();
  const before = await groups.records();
  const chore = createMoves();
  expect(await chore(deposed.term)).toBe(0);
  await expect(chore(deposed.term)).rejects.toMatchObject({ code: 'LEASE_LOST' });
  expect(await groups.records()).toEqual(before);
});

test('a node that stays away is given up by time alone, whatever happened meanwhile', async () => {
  const migrateWaitMs = 1_500;
  const { coordinator } = start('pd1', { migrateWaitMs });
  await expect.poll(isSettled, WITHIN).toBe(true);
  const lostMs = performance.now();
  await store.delete(keys.node('n2'));
  await expect.poll(() => coordinator.isMaster, WITHIN).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const load = { version: 1, node: 'n1', replicas: 1, leaders: 1, keys: 1 };
  await store.put(
    keys.load('n1'),
    encodeRecord({ ...load, diskBytes: 1, memoryBytes: 1 } as never),
  );
  const left = await held('n2');
  // seen later it says nothing
  if (performance.now() - lostMs < migrateWaitMs) expect(left).toBeGreaterThan(0);
  // from here on nobody writes anything but the master and the groups it changes
  await expect.poll(() => held('n2'), WITHIN).toBe(0);
});

test('a move that does not get on is given up, and others go on', async () => {
  const { coordinator } = start('pd1', { moveStallMs: 1_000 });
  await expect.poll(isSettled, WITHIN).toBe(true);
  groups.unfillable = 'n5';
  await register(store, 'n5');
  await expect.poll(() => held('n5'), WITHIN).toBe(MOVES_AT_ONCE);
  await expect.poll(() => held('n5'), WITHIN).toBe(0);
  await expect.poll(isSettled, WITHIN).toBe(true);
  const given = (await groups.records()).filter(({ move }) => move?.gaveUp !== undefined);
  expect(given).toHaveLength(MOVES_AT_ONCE);
  for (const { birth, replicas, move } of given) {
    expect(move).toMatchObject({ gaveUp: { node: 'n5' }, why: /given up/ });
    expect(replicas.map(({ replica }) => replica).sort()).toEqual(
      birth.map(({ replica }) => replica).sort(),
    );
  }
  await coordinator.operator!.drain('n2');
  await expect.poll(() => held('n2'), WITHIN).toBe(0);
  expect(await held('n5')).toBe(0);
});

test('a move is not given up once its group has told that it is done', async () => {
  start('pd1');
  await expect.poll(isSettled, WITHIN).toBe(true);
  await running.pop()!.stop();
  groups.unfillable = 'n5';
  await register(store, 'n5');
  const { term, look } = await becomeMaster(meta, systemClock, { planDelayMs: 0, moveStallMs: 50 });
  const chore = createMoves();
  const pass = async () => {
    const waitMs = (await chore(term)) ?? 0;
    await new Promise((resolve) => setTimeout(resolve, waitMs + 5));
    await chore(term);
  };
  await pass();
  await expect
    .poll(async () =>
      [...(await groups.leaders()).values()].flatMap((one) => one.membership.learners),
    )
    .not.toHaveLength(0);
  await look();
  await pass();
  await new Promise((resolve) => setTimeout(resolve, 100));
  groups.unfillable = undefined;
  await expect.poll(isSettled, WITHIN).toBe(true);
  const before = await groups.records();
  await pass();
  expect(await groups.records()).toEqual(before);
});

test('nothing is begun once upgrade mode is on, though the master has not heard of it yet', async () => {
  start('pd1');
  await expect.poll(isSettled, WITHIN).toBe(true);
  await running.pop()!.stop();
  const { term, look } = await becomeMaster(meta, systemClock, { planDelayMs: 0 });
  const draining = { sinceMs: 1, replicas: 9 };
  const state = { version: 1, node: 'n2', firstSeenMs: 1, draining };
  await store.put(keys.nodeState('n2'), encodeRecord(state as { version: number }));
  await look();
  await store.put(keys.control, encodeRecord({ ...calm, upgradeSinceMs: 1 } as ControlRecord));
  const replicas = async () => (await groups.records()).map((record) => record.move);
  const before = await replicas();
  const chore = createMoves();
  await chore(term);
  await chore(term);
  expect(await replicas()).toEqual(before);
});
