import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { limits } from '../../../src/common/limits.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type NamespaceRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { carryOutDeletions } from '../../../src/placedriver/chores/deletions.ts';
import { createNamespace } from '../../../src/placedriver/namespaces.ts';
import type { NamespaceSpec } from '../../../src/placedriver/operator/operator.ts';
import { eventually } from '../../cluster/cluster.ts';
import { TestDriver } from '../driver.ts';
import { becomeMaster, hooked } from '../master.ts';

let driver: TestDriver;

const spec: NamespaceSpec = { name: 'db1', partitions: 3, replicas: 1, hash: 'slots' };

beforeEach(async () => {
  driver = new TestDriver();
  await driver.register('n1');
});

afterEach(() => driver.stop());

const created = (name: string) =>
  eventually(30_000, 'created', async () => {
    await driver.operator.createNamespace({ ...spec, name });
    return true;
  });

const gone = (name: string) =>
  eventually(30_000, 'gone', async () => (await driver.namespace(name)) === undefined);

test('the next master goes on with a deletion, and tells of groups before they are removed', async () => {
  const first = await driver.start('pd1');
  await created('db1');
  await first.stop();
  const { group } = (await driver.partitions('db1'))[0]!;
  const record = { ...(await driver.namespace('db1'))!, ready: false, deleting: true };
  await driver.store.put(keys.namespace('db1'), encodeRecord(record));
  await driver.store.delete(keys.partition('db1', 2));
  await driver.start('pd2');
  await gone('db1');
  expect(await driver.partitions('db1')).toEqual([]);
  // of the third it had been told before, had this been a master that died
  expect(await driver.deletions()).toMatchObject([{ firstGroup: group, groups: 2 }]);
});

test('what was never finished is removed, and no datanode is told to destroy anything', async () => {
  const first = await driver.start('pd1');
  await created('db1');
  await first.stop();
  const half: NamespaceRecord = { ...(await driver.namespace('db1'))!, ready: false };
  await driver.store.put(keys.namespace('db1'), encodeRecord(half));
  await driver.start('pd2');
  await gone('db1');
  expect(await driver.partitions('db1')).toEqual([]);
  expect(await driver.deletions()).toEqual([]);
  await created('db1');
  expect(await driver.partitions('db1')).toHaveLength(3);
});

test('of what was never finished, groups are told that were there before it was claimed', async () => {
  const first = await driver.start('pd1');
  await created('db1');
  await first.stop();
  const [before] = await driver.partitions('db1');
  const half: NamespaceRecord = { ...(await driver.namespace('db1'))!, ready: false };
  await driver.store.delete(keys.namespace('db1'));
  await driver.store.put(keys.partition('db1', 1), '{"version":1}');
  await driver.store.put(keys.namespace('db1'), encodeRecord(half));
  const group = before!.group + 9;
  const written: PartitionRecord = { ...before!, partition: 2, group };
  await driver.store.put(keys.partition('db1', 2), encodeRecord(written));
  await driver.start('pd2');
  await gone('db1');
  expect((await driver.store.range(keys.partitionsOf('db1'))).items).toEqual([]);
  expect(await driver.deletions()).toMatchObject([{ firstGroup: before!.group, groups: 1 }]);
});

test('partitions whose namespace has no record are left alone, and so is one that is bad', async () => {
  const first = await driver.start('pd1');
  await created('db1');
  await created('db2');
  await first.stop();
  await driver.store.delete(keys.namespace('db1'));
  await driver.store.put(keys.namespace('db2'), '{"version":1}');
  await driver.start('pd2');
  await created('db3');
  await driver.operator.deleteNamespace('db3');
  await gone2();
  expect((await driver.store.range(keys.partitionsOf('db1'))).items).toHaveLength(3);
  expect((await driver.store.range(keys.partitionsOf('db2'))).items).toHaveLength(3);
  expect((await driver.store.get(keys.namespace('db2')))?.value).toBe('{"version":1}');

  async function gone2(): Promise<void> {
    await eventually(30_000, 'gone', async () => {
      return (await driver.store.get(keys.namespace('db3'))) === undefined;
    });
  }
});

test('default comes back, empty, with groups of its own', async () => {
  await driver.start('pd1', 1);
  const whole = async () => (await driver.namespace('default'))?.ready === true;
  await eventually(30_000, 'default', whole);
  const [before] = await driver.partitions('default');
  await driver.operator.deleteNamespace('default');
  await eventually(30_000, 'default anew', async () => {
    const [now] = await driver.partitions('default');
    return (await whole()) && now !== undefined && now.group > before!.group + 1;
  });
  expect(await driver.deletions()).toMatchObject([{ firstGroup: before!.group, groups: 2 }]);
});

test('however many namespaces come and go, few records tell of all their groups', async () => {
  await driver.start('pd1');
  await created('stays');
  const deleted: number[] = [];
  for (let at = 0; at < limits.deletionsApartMax + 6; at++) {
    await created('db1');
    deleted.push(...(await driver.partitions('db1')).map(({ group }) => group));
    if (at === 9) await created('stays2');
    await driver.operator.deleteNamespace('db1');
    await gone('db1');
  }
  await eventually(30_000, 'merged', async () => (await driver.deletions()).length <= 8);
  const told = (await driver.deletions()).flatMap(({ firstGroup, groups }) =>
    Array.from({ length: groups }, (_, at) => firstGroup + at),
  );
  expect(told.sort((a, b) => a - b)).toEqual(deleted.sort((a, b) => a - b));
});

test('a record that cannot be read is left alone, and so are those of groups that do not follow', async () => {
  const record = (firstGroup: number, groups: number, namespace = 'old') => {
    const deletion = { version: 1, namespace, firstGroup, groups, deletedMs: firstGroup };
    return driver.store.put(keys.deletion(firstGroup), encodeRecord(deletion));
  };
  for (let at = 0; at < limits.metaTxnOperationsMax + 12; at++) await record(1_000 + 2 * at, 2);
  await record(3_000, 1, 'alone');
  await record(900, 99);
  await driver.store.put(keys.deletion(1_020), '{"version":1}');
  await driver.start('pd1');
  await eventually(30_000, 'merged', async () => {
    const { items } = await driver.store.range(keys.deleted);
    return items.length <= 6;
  });
  await driver.store.delete(keys.deletion(1_020));
  const told = (await driver.deletions()).map(({ firstGroup, groups }) => [firstGroup, groups]);
  const ended = 1_000 + 2 * (limits.metaTxnOperationsMax + 12);
  // what one transaction merges, which compares each of them and the fence
  const merged = 1_022 + 2 * (limits.metaTxnOperationsMax - 1);
  expect(told.sort((a, b) => a[0]! - b[0]!)).toEqual([
    [900, 99],
    [1_000, 20],
    [1_022, merged - 1_022],
    [merged, ended - merged],
    [3_000, 1],
  ]);
});

describe('while the chore looks', () => {
  const key = keys.namespace('db1');
  const half: NamespaceRecord = {
    ...{ version: 1, name: 'db1', kind: 'redis', hash: 'slots', expiry: 'consistent' },
    ...{ partitions: 3, replicas: 1, ready: false },
  };
  const led: LeaderRecord = {
    ...{ version: 1, namespace: 'db1', partition: 0, group: 1, node: 'n1', replica: 1, term: 1 },
    membership: { epoch: 1, voters: [1], learners: [], joint: false },
  };
  const manual = () => {
    let resolve = () => {};
    const promise = new Promise<void>((settle) => {
      resolve = settle;
    });
    return { promise, resolve: () => resolve() };
  };

  async function master(hooks: (store: MetaStore) => Partial<MetaStore>) {
    const { term, look } = await becomeMaster(driver.meta, systemClock);
    return { term: { ...term, store: hooked(term.store, hooks(term.store)) }, look };
  }

  test('what is being made is left alone, and looked at again', async () => {
    const claimed = manual();
    const may = manual();
    const { term, look } = await master((store) => ({
      // ids are reserved once the name is claimed
      get: async (asked) => {
        if (asked === keys.counters) {
          claimed.resolve();
          await may.promise;
        }
        return store.get(asked);
      },
    }));
    const making = createNamespace(term, spec);
    await claimed.promise;
    await look();
    expect(await carryOutDeletions(term)).toBeGreaterThan(0);
    may.resolve();
    await making;
    expect((await driver.namespace('db1'))?.ready).toBe(true);
  });

  test('what begins to be made again meanwhile is left alone', async () => {
    let making: Promise<void> | undefined;
    let looks = false;
    const claimed = manual();
    const may = manual();
    const { term, look } = await master((store) => ({
      get: async (asked) => {
        if (asked === keys.counters) {
          claimed.resolve();
          await may.promise;
        } else if (asked === key && looks) {
          looks = false;
          making = createNamespace(term, spec);
          await claimed.promise;
        }
        return store.get(asked);
      },
    }));
    await driver.store.put(key, encodeRecord(half));
    await look();
    looks = true;
    await carryOutDeletions(term);
    may.resolve();
    await making;
    expect((await driver.namespace('db1'))?.ready).toBe(true);
  });

  test('what became ready since it was seen stays, and so does what does while it is read', async () => {
    const whole: NamespaceRecord = { ...half, ready: true };
    const ready = () => driver.store.put(key, encodeRecord(whole));
    let reads = 0;
    const { term, look } = await master((store) => ({
      range: async (prefix) => {
        if (prefix === keys.partitionsOf('db1') && ++reads === 1) await ready();
        return store.range(prefix);
      },
    }));
    await driver.store.put(key, encodeRecord(half));
    await look();
    await carryOutDeletions(term);
    expect([reads, (await driver.namespace('db1'))?.ready]).toEqual([1, true]);
    await carryOutDeletions(term);
    expect([reads, (await driver.namespace('db1'))?.ready]).toEqual([1, true]);
  });

  test('leaders of a namespace that has come meanwhile stay', async () => {
    const { term, look } = await master(() => ({}));
    const leader = keys.leader('db1', 0);
    await driver.store.put(leader, encodeRecord(led));
    await look();
    await driver.store.put(key, encodeRecord(half));
    await carryOutDeletions(term);
    expect(await driver.store.get(leader)).toBeDefined();
    await driver.store.delete(key);
    await carryOutDeletions(term);
    expect(await driver.store.get(leader)).toBeUndefined();
  });

  test('records of deleted groups that somebody changes meanwhile are not merged', async () => {
    const deletion = (firstGroup: number, groups: number) => {
      const record = { version: 1, namespace: 'old', firstGroup, groups, deletedMs: 1 };
      return driver.store.put(keys.deletion(firstGroup), encodeRecord(record));
    };
    let changes = true;
    const { term, look } = await master((store) => ({
      transaction: async (compares, operations) => {
        const merges = operations.some(({ key: at }) => at.startsWith(keys.deleted));
        if (merges && changes) await deletion(1, 3);
        return store.transaction(compares, operations);
      },
    }));
    for (let at = 0; at <= limits.deletionsApartMax; at++) await deletion(1 + 2 * at, 2);
    await look();
    await carryOutDeletions(term);
    const first = async () => {
      const told = await driver.deletions();
      return told.find(({ firstGroup }) => firstGroup === 1)?.groups;
    };
    expect(await first()).toBe(3);
    changes = false;
    await deletion(1, 2);
    await look();
    await carryOutDeletions(term);
    expect(await first()).toBeGreaterThan(3);
  });

  test('nothing is merged any more once it is master no more', async () => {
    const { term, look } = await master(() => ({}));
    for (let at = 0; at <= limits.deletionsApartMax; at++) {
      const record = { version: 1, namespace: 'old', firstGroup: 1 + at, groups: 1, deletedMs: 1 };
      await driver.store.put(keys.deletion(1 + at), encodeRecord(record));
    }
    await look();
    const before = (await driver.store.range(keys.deleted)).items.length;
    const over = { ...term, leadership: { ...term.leadership, lost: AbortSignal.abort() } };
    await carryOutDeletions(over);
    expect((await driver.store.range(keys.deleted)).items).toHaveLength(before);
    await carryOutDeletions(term);
    expect((await driver.store.range(keys.deleted)).items.length).toBeLessThan(before);
  });
});
