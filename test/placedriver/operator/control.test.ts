import { beforeEach, describe, expect, test } from 'vitest';
import type { KvorumError } from '../../../src/common/errors.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import { decodeRecord, recordKinds } from '../../../src/meta/records.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { trackNodes } from '../../../src/placedriver/chores/node-states.ts';
import { controlRequests } from '../../../src/placedriver/operator/control.ts';
import { becomeMaster, register, type TestMaster, testClock, unregister } from '../master.ts';

const clock = testClock();
let meta: MemoryMeta;
let store: MetaStore;
let master: TestMaster;
let operator: ReturnType<typeof controlRequests>;

beforeEach(async () => {
  meta = new MemoryMeta({ clock });
  store = meta.connect();
  await register(store, 'n1', 'n2', 'n3', 'n4');
  master = await becomeMaster(meta, clock);
  await look();
  operator = controlRequests(master.term);
});

async function look(): Promise<void> {
  await master.look();
  await trackNodes(master.term);
  await master.look();
}

async function control() {
  const item = await store.get(keys.control);
  return decodeRecord(recordKinds.control, item!.key, item!.value);
}

async function writtenOff(): Promise<string[]> {
  await master.look();
  const states = master.term.picture.nodeStates();
  return states.filter(({ record }) => record.writtenOff).map(({ record }) => record.node);
}

const refusal = (asked: Promise<void>) =>
  asked.then(
    () => 'done',
    ({ code, message }: KvorumError) => `${code} ${message}`,
  );

describe('balancing', () => {
  test('switch and window are set apart from each other, and stay', async () => {
    const window = { fromMinute: 1_380, toMinute: 300 };
    await operator.setBalance({ enabled: false });
    expect((await control()).balance).toEqual({ enabled: false });
    await operator.setBalance({ window });
    expect((await control()).balance).toEqual({ enabled: false, window });
    await operator.setBalance({ enabled: true });
    expect((await control()).balance).toEqual({ enabled: true, window });
    await operator.setBalance({ window: null });
    expect((await control()).balance).toEqual({ enabled: true });
    expect((await control()).stableNodes).toBe(4);
  });

  test('what it already is is not written', async () => {
    const before = meta.revision;
    await operator.setBalance({ enabled: true, window: null });
    await operator.setUpgrade(false);
    expect(meta.revision).toBe(before);
  });

  test('a wrong argument is named', async () => {
    const set = (fromMinute: number, toMinute: number) =>
      refusal(operator.setBalance({ window: { fromMinute, toMinute } }));
    expect(await set(-1, 5)).toMatch(/^BAD_ARGUMENT window\.fromMinute: -1/);
    expect(await set(1, 1_440)).toMatch(/^BAD_ARGUMENT window\.toMinute: 1440/);
    expect(await set(1, 1.5)).toMatch(/^BAD_ARGUMENT window\.toMinute: 1\.5/);
    expect(await set(7, 7)).toMatch(/^BAD_ARGUMENT window: it ends where it begins/);
    expect(await refusal(operator.setBalance({}))).toMatch(/^BAD_ARGUMENT enabled, window/);
    expect((await control()).balance).toEqual({ enabled: true });
  });
});

describe('upgrade mode', () => {
  test('begins once and ends; the balance switch is not touched', async () => {
    await operator.setBalance({ enabled: false });
    const began = clock.nowMs;
    await operator.setUpgrade(true);
    clock.nowMs += 5_000;
    await operator.setUpgrade(true);
    expect((await control()).upgradeSinceMs).toBe(began);
    await operator.setUpgrade(false);
    expect(await control()).toEqual({ version: 1, stableNodes: 4, balance: { enabled: false } });
  });

  test('what a newer build has written beside it stays', async () => {
    await store.put(keys.control, encodeRecord({ ...(await control()), later: 7 } as never));
    await operator.setUpgrade(true);
    await operator.setBalance({ enabled: false });
    expect(await control()).toMatchObject({ later: 7, balance: { enabled: false } });
  });
});

describe('the stable node count', () => {
  test('is lowered to those that live, and the others are written off until they return', async () => {
    await unregister(store, 'n3', 'n4');
    await look();
    await operator.lowerStableNodes(3);
    expect((await control()).stableNodes).toBe(3);
    expect(await writtenOff()).toEqual(['n3', 'n4']);
    await operator.lowerStableNodes(2);
    expect((await control()).stableNodes).toBe(2);
    await register(store, 'n4');
    await look();
    expect((await control()).stableNodes).toBe(3);
    expect(await writtenOff()).toEqual(['n3']);
  });

  test('also a loss that no chore has noted yet', async () => {
    await unregister(store, 'n4');
    await operator.lowerStableNodes(3);
    expect(await writtenOff()).toEqual(['n4']);
    const state = master.term.picture.nodeStates().find(({ record }) => record.writtenOff);
    expect(state?.record.lostSinceMs).toBe(clock.nowMs);
  });

  test('what it already is writes off who is away', async () => {
    await unregister(store, 'n4');
    await look();
    await operator.lowerStableNodes(4);
    expect(await writtenOff()).toEqual(['n4']);
    expect((await control()).stableNodes).toBe(4);
  });

  test('is not raised, nor lowered below one or below those that live', async () => {
    const lower = (count: number) => refusal(operator.lowerStableNodes(count));
    expect(await lower(5)).toMatch(/^BAD_ARGUMENT number: 5 is more than the stable node count, 4/);
    expect(await lower(0)).toMatch(/^BAD_ARGUMENT number: 0 /);
    expect(await lower(2.5)).toMatch(/^BAD_ARGUMENT number: 2.5 /);
    expect(await lower(Number.NaN)).toMatch(/^BAD_ARGUMENT number: NaN /);
    await unregister(store, 'n4');
    expect(await lower(2)).toMatch(/^CONFLICT number: 3 datanodes are alive/);
    expect((await control()).stableNodes).toBe(4);
    expect(await writtenOff()).toEqual([]);
  });

  test('of hundreds of lost nodes, in several transactions', async () => {
    const many = Array.from({ length: 300 }, (_, at) => `m${at}`);
    await register(store, ...many);
    await look();
    expect((await control()).stableNodes).toBe(304);
    await unregister(store, ...many);
    await operator.lowerStableNodes(4);
    expect((await writtenOff()).length).toBe(300);
    expect((await control()).stableNodes).toBe(4);
  });
});

describe('who may write', () => {
  test('requests that meet each other all take effect', async () => {
    await Promise.all([
      operator.setBalance({ enabled: false }),
      operator.setUpgrade(true),
      operator.setBalance({ window: { fromMinute: 1, toMinute: 2 } }),
    ]);
    const { upgradeSinceMs, balance } = await control();
    expect(upgradeSinceMs).toBe(clock.nowMs);
    expect(balance).toEqual({ enabled: false, window: { fromMinute: 1, toMinute: 2 } });
  });

  test('a deposed master changes nothing, though it does not know it yet', async () => {
    await unregister(store, 'n4');
    await becomeMaster(meta, clock);
    const before = meta.revision;
    expect(master.term.leadership.lost.aborted).toBe(false);
    const requests = [
      operator.setBalance({ enabled: false }),
      operator.setUpgrade(true),
      operator.lowerStableNodes(3),
    ];
    for (const asked of requests) expect(await refusal(asked)).toMatch(/^LEASE_LOST/);
    expect(meta.revision).toBe(before);
  });

  test('a record that cannot be read is not written over', async () => {
    await store.put(keys.control, '{"version":1}');
    const before = meta.revision;
    expect(await refusal(operator.setUpgrade(true))).toMatch(/^BAD_RECORD .*\/kvorum\/control/);
    expect(await refusal(operator.lowerStableNodes(4))).toMatch(/^BAD_RECORD/);
    expect(meta.revision).toBe(before);
  });

  test('before the chores have written a record, the request does', async () => {
    await store.delete(keys.control);
    await operator.setUpgrade(true);
    const upgradeSinceMs = clock.nowMs;
    expect(await control()).toEqual({
      ...{ version: 1, stableNodes: 4, upgradeSinceMs },
      balance: { enabled: true },
    });
  });
});
