import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { codeOf } from '../../../src/common/errors.ts';
import { limits } from '../../../src/common/limits.ts';
import { encodeRecord, keys } from '../../../src/meta/schema.ts';
import type { NamespaceSpec } from '../../../src/placedriver/operator/operator.ts';
import { eventually, pause } from '../../cluster/cluster.ts';
import { TestDriver } from '../driver.ts';

let driver: TestDriver;

const spec: NamespaceSpec = { name: 'db1', partitions: 4, replicas: 2, hash: 'slots' };

beforeEach(async () => {
  driver = new TestDriver();
  await driver.register('n1', { tags: { ssd: '', zone: 'a' } });
  await driver.register('n2', { tags: { ssd: '', zone: 'b' } });
  await driver.register('n3');
  await driver.start('pd1');
  const nodes = () => failure(driver.operator.createNamespace({ ...spec, replicas: 7 }));
  await eventually(30_000, 'the master sees the nodes', async () =>
    /there are 3/.test(await nodes()),
  );
});

afterEach(() => driver.stop());

/** `CODE text`; empty: there was none. */
async function failure(request: Promise<void>): Promise<string> {
  try {
    await request;
    return '';
  } catch (error) {
    return `${codeOf(error)} ${(error as Error).message}`;
  }
}

const gone = (name: string) =>
  eventually(30_000, 'gone', async () => (await driver.namespace(name)) === undefined);

describe('creating', () => {
  test('writes every partition with ids of its own, and what was asked for', async () => {
    await driver.operator.createNamespace({ ...spec, tags: ['ssd'], reads: 'lease' });
    const { version: _, ...record } = (await driver.namespace('db1'))!;
    expect(record).toEqual({
      ...{ ...spec, kind: 'redis', expiry: 'consistent', tags: ['ssd'], reads: 'lease' },
      ready: true,
    });
    const partitions = await driver.partitions('db1');
    expect(partitions.map(({ firstSlot, lastSlot }) => [firstSlot, lastSlot])).toEqual([
      [0, 4_095],
      [4_096, 8_191],
      [8_192, 12_287],
      [12_288, 16_383],
    ]);
    const groups = partitions.map(({ group }) => group);
    expect(groups).toEqual([0, 1, 2, 3].map((at) => groups[0]! + at));
    for (const { replicas } of partitions) {
      expect(replicas.map(({ node }) => node).sort()).toEqual(['n1', 'n2']);
    }
  });

  test('deals keys out by murmur3 where that is asked for', async () => {
    await driver.operator.createNamespace({ ...spec, hash: 'murmur3' });
    for (const { partition, firstSlot, lastSlot, murmur3 } of await driver.partitions('db1')) {
      expect([firstSlot, lastSlot]).toEqual([0, 16_383]);
      expect(murmur3).toEqual({ modulo: 4, remainder: partition });
    }
  });

  test('takes 1,024 partitions, beside others, and gives an emptier node the odd one', async () => {
    await driver.operator.createNamespace({ ...spec, name: 'big', partitions: 1_024, replicas: 1 });
    expect(await driver.partitions('big')).toHaveLength(1_024);
    await driver.operator.createNamespace({ ...spec, tags: ['zone=a'], replicas: 1 });
    await pause(300);
    await driver.operator.createNamespace({ ...spec, name: 'db2', partitions: 4, replicas: 1 });
    const held = (name: string) =>
      driver.partitions(name).then((all) => all.map(({ replicas }) => replicas[0]!.node));
    expect(await held('db1')).toEqual(['n1', 'n1', 'n1', 'n1']);
    // each namespace is even by itself; what cannot be even goes to who holds less of all
    expect((await held('db2')).sort()).toEqual(['n1', 'n2', 'n2', 'n3']);
  });

  test.each<[string, Partial<NamespaceSpec>]>([
    ['name', { name: '' }],
    ['name', { name: 'a/b' }],
    ['name', { name: 'ä' }],
    ['name', { name: 'a'.repeat(256) }],
    ['partitions', { partitions: 0 }],
    ['partitions', { partitions: 1_025 }],
    ['partitions', { partitions: 1.5 }],
    ['replicas', { replicas: 8 }],
    ['replicas', { replicas: Number.NaN }],
    ['hash', { hash: 'crc' as never }],
    ['tags', { tags: ['a b'] }],
    ['tags', { tags: ['='] }],
    ['reads', { reads: 'stale' as never }],
  ])('refuses a wrong %s: %j', async (field, wrong) => {
    const text = await failure(driver.operator.createNamespace({ ...spec, ...wrong }));
    expect(text).toMatch(new RegExp(`^BAD_ARGUMENT ${field}: must be `));
    expect((await driver.store.range(keys.namespaces)).items).toEqual([]);
  });

  test('refuses a name that is taken, and more replicas than nodes that may have them', async () => {
    const { operator } = driver;
    const twice = await Promise.all([
      failure(operator.createNamespace(spec)),
      failure(operator.createNamespace({ ...spec, partitions: 7 })),
    ]);
    expect(twice.filter((text) => text === '')).toHaveLength(1);
    expect(twice.join('')).toMatch(/^CONFLICT .*another request/);
    expect(await failure(operator.createNamespace(spec))).toMatch(/^CONFLICT .*exists already/);
    const other = { ...spec, name: 'db2' };
    const tagged = await failure(operator.createNamespace({ ...other, tags: ['zone=a'] }));
    expect(tagged).toMatch(/^CONFLICT .* 2 replicas, .*with the tags zone=a; there are 1 that/);
    await driver.register('n4', { tags: { zone: 'a' } });
    const state = { version: 1, node: 'n4', firstSeenMs: 1, draining: { sinceMs: 1, replicas: 0 } };
    await driver.store.put(keys.nodeState('n4'), encodeRecord(state));
    await pause(300);
    expect(await failure(operator.createNamespace({ ...other, replicas: 4 }))).toMatch(
      /are 3 that/,
    );
  });

  test('writes over what a namespace without a record has left', async () => {
    const { operator, store } = driver;
    await operator.createNamespace(spec);
    const [before] = await driver.partitions('db1');
    await store.delete(keys.namespace('db1'));
    await operator.createNamespace({ ...spec, partitions: 2 });
    const partitions = await driver.partitions('db1');
    expect(partitions).toHaveLength(2);
    expect(partitions[0]!.group).toBeGreaterThan(before!.group + 3);
    // datanodes have replicas of the old ones
    expect(await driver.deletions()).toMatchObject([{ firstGroup: before!.group, groups: 4 }]);
  });
});

describe('changing', () => {
  test('changes what it names, and keeps the rest', async () => {
    const { operator } = driver;
    await operator.createNamespace({ ...spec, tags: ['ssd'] });
    await operator.updateNamespace('db1', { replicas: 1, reads: 'linearizable' });
    expect(await driver.namespace('db1')).toMatchObject({ replicas: 1, tags: ['ssd'] });
    await operator.updateNamespace('db1', { reads: 'lease' });
    expect(await driver.namespace('db1')).toMatchObject({ replicas: 1, reads: 'lease' });
    expect(await failure(operator.updateNamespace('db1', { replicas: 3 }))).toMatch(
      /^CONFLICT .*there are 2 that/,
    );
    await operator.updateNamespace('db1', { replicas: 3, tags: [] });
    const record = await driver.namespace('db1');
    expect(record).toMatchObject({ replicas: 3, partitions: 4, ready: true });
    expect(record).not.toHaveProperty('tags');
    expect(await failure(operator.updateNamespace('db1', { replicas: 0 }))).toMatch(
      /^BAD_ARGUMENT replicas/,
    );
    expect(await failure(operator.updateNamespace('db9', { replicas: 1 }))).toMatch(/^NOT_FOUND/);
  });
});

describe('deleting', () => {
  test('tells of the groups, removes every record, and lets the name be used again', async () => {
    const { operator, store } = driver;
    await operator.createNamespace(spec);
    const partitions = await driver.partitions('db1');
    const [{ group, replicas }] = partitions as [(typeof partitions)[0]];
    const leader = {
      ...{ version: 1, namespace: 'db1', partition: 0, node: 'n1', replica: replicas[0]!.replica },
      ...{ term: 9, membership: { epoch: 1, voters: [1], learners: [], joint: false } },
    };
    const damage = {
      ...{ version: 1, namespace: 'db1', partition: 0, replica: replicas[0]!.replica },
      ...{ node: 'n1', incarnation: 'gone', reason: 'bits' },
    };
    await store.put(keys.leader('db1', 0), encodeRecord(leader));
    await store.put(keys.damage(damage.replica), encodeRecord(damage));
    await operator.deleteNamespace('db1');
    expect((await driver.namespace('db1'))?.ready ?? false).toBe(false);
    expect(await driver.deletions()).toMatchObject([
      { namespace: 'db1', firstGroup: group, groups: 4 },
    ]);
    await gone('db1');
    for (const prefix of [keys.partitions, keys.leaders]) {
      expect((await store.range(prefix)).items).toEqual([]);
    }
    await eventually(30_000, 'no damage', async () => {
      return (await store.range(keys.damages)).items.length === 0;
    });
    expect(await failure(operator.deleteNamespace('db1'))).toMatch(/^NOT_FOUND/);
    await operator.createNamespace({ ...spec, partitions: 2 });
    const anew = await driver.partitions('db1');
    expect(Math.min(...anew.map((record) => record.group))).toBeGreaterThan(group + 3);
    // told late, by a node that was away
    await operator.deleteNamespace('db1');
    await gone('db1');
    await store.put(keys.leader('db1', 0), encodeRecord(leader));
    await eventually(30_000, 'the late leader is removed', async () => {
      return (await store.range(keys.leaders)).items.length === 0;
    });
    expect(await driver.deletions()).toHaveLength(2);
  });

  test('names each run of groups where they are not consecutive', async () => {
    const { operator, store } = driver;
    await operator.createNamespace(spec);
    const [first, ...others] = await driver.partitions('db1');
    const moved = { ...others[1]!, group: 900 };
    await store.put(keys.partition('db1', moved.partition), encodeRecord(moved));
    await operator.deleteNamespace('db1');
    const told = (await driver.deletions()).map(({ firstGroup, groups }) => [firstGroup, groups]);
    expect(told.sort((a, b) => a[0]! - b[0]!)).toEqual([
      [first!.group, 2],
      [first!.group + 3, 1],
      [900, 1],
    ]);
  });

  test('also where their runs are more than one transaction takes', async () => {
    const { operator, store } = driver;
    const partitions = limits.metaTxnOperationsMax + 2;
    await operator.createNamespace({ ...spec, partitions, replicas: 1 });
    for (const record of await driver.partitions('db1')) {
      const apart = { ...record, group: 1_000 + 2 * record.partition };
      await store.put(keys.partition('db1', record.partition), encodeRecord(apart));
    }
    await operator.deleteNamespace('db1');
    await gone('db1');
    const told = await driver.deletions();
    expect(told.reduce((sum, { groups }) => sum + groups, 0)).toBe(partitions);
  });
});
