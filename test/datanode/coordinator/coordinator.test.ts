import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writeChecked } from '../../../src/common/checked-file.ts';
import { type Clock, systemClock } from '../../../src/common/clock.ts';
import { silentLogger } from '../../../src/common/log.ts';
import { seededRandom } from '../../../src/common/random.ts';
import type { ClusterView, ViewChange } from '../../../src/datanode/coordinator/cluster-view.ts';
import { DatanodeCoordinator } from '../../../src/datanode/coordinator/coordinator.ts';
import { MemoryMeta } from '../../../src/meta/memory.ts';
import {
  encodeRecord,
  keys,
  type LeaderRecord,
  type LoadRecord,
  type NamespaceRecord,
  type NodeRecord,
  type PartitionRecord,
} from '../../../src/meta/schema.ts';
import type { MetaStore } from '../../../src/meta/store.ts';
import { SimDisk } from '../../sim/disk.ts';

const record: NodeRecord = {
  version: 1,
  node: 'n1',
  incarnation: 'one',
  bootId: 'b',
  host: 'h',
  transportPort: 1,
  gatewayPort: 2,
  clusterPort: 3,
  httpPort: 4,
  tags: {},
};

const replicas = [{ replica: 1, node: 'n1', incarnation: 'one' }];

const partition: PartitionRecord = {
  version: 1,
  namespace: 'default',
  partition: 0,
  group: 1,
  firstSlot: 0,
  lastSlot: 16_383,
  birth: replicas,
  replicas,
  epoch: 1,
  fence: 1,
};

const namespace = (ready: boolean, partitions = 1) =>
  encodeRecord({
    version: 1,
    name: 'default',
    kind: 'redis',
    hash: 'slots',
    partitions,
    replicas: 1,
    expiry: 'consistent',
    ready,
  } as NamespaceRecord);

const leaderRecord = (partitionId: number, term: number, group?: number): LeaderRecord => ({
  version: 1,
  namespace: 'default',
  partition: partitionId,
  ...(group !== undefined && { group }),
  node: 'n1',
  replica: 1,
  term,
  ...(group !== undefined && { group }),
  membership: { epoch: 1, voters: [1, 2, 3], learners: [], joint: false },
});

let meta: MemoryMeta;
let store: MetaStore;
let disk: SimDisk;
let running: DatanodeCoordinator[];

beforeEach(async () => {
  meta = new MemoryMeta({ clock: systemClock });
  store = meta.connect();
  disk = new SimDisk({ random: seededRandom(1), clock: systemClock });
  await disk.makeDir('/d');
  running = [];
  errors = [];
  warnings = [];
  clock = systemClock;
  load = { version: 1, node: 'n1', replicas: 3, leaders: 1, keys: 7, ...bytes(1_600, 3_200) };
});

afterEach(async () => {
  meta.available = true;
  await Promise.all(running.map((coordinator) => coordinator.stop()));
});

let errors: string[];
let warnings: string[];
let clock: Clock;
let load: LoadRecord;

const isNotRegistered = (warning: string) => warning.startsWith('not registered');

const bytes = (diskBytes: number, memoryBytes: number) => ({ diskBytes, memoryBytes });

function start(own: Partial<NodeRecord> = {}, life?: number) {
  const changes: ViewChange[] = [];
  const refusals: Error[] = [];
  const currents: number[] = [];
  let view: ClusterView | undefined;
  const coordinator = new DatanodeCoordinator({
    store,
    disk,
    clock,
    logger: {
      ...silentLogger,
      warn: (message, fields) => warnings.push(`${message} ${JSON.stringify(fields)}`),
      error: (message, fields) => errors.push(`${message} ${JSON.stringify(fields)}`),
    },
    dataDir: '/d',
    leaseTtlMs: 1_000,
    loadReportMs: 20,
    notes: { life, beginLife: async () => {} },
    load: async () => load,
    onChange: (now, change) => {
      view = now;
      changes.push(change);
    },
    onCurrent: () => currents.push(view!.partitions().length),
    onRefused: (error) => refusals.push(error),
  });
  running.push(coordinator);
  return {
    coordinator,
    changes,
    refusals,
    currents,
    view: () => view,
    started: coordinator.start({ ...record, ...own }),
  };
}

describe('a datanode on its control path', () => {
  test('registers under its lease and withdraws when it stops', async () => {
    const { coordinator, started, view } = start();
    await started;
    await expect.poll(() => store.get(keys.node('n1'))).toBeDefined();
    await expect.poll(() => view()?.isAlive('n1')).toBe(true);
    await coordinator.stop();
    expect(await store.get(keys.node('n1'))).toBeUndefined();
  });

  test('tells what it carries under its lease, when that has changed', async () => {
    const { coordinator, started } = start();
    await started;
    const told = () => store.get(keys.load('n1'));
    await expect.poll(told).toMatchObject({ value: encodeRecord(load) });
    const { modRevision } = (await told())!;
    // a sixteenth more or less is no news
    load = { ...load, ...bytes(1_700, 3_000) };
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await told()).toMatchObject({ modRevision });
    load = { ...load, leaders: 2 };
    await expect.poll(told).toMatchObject({ value: encodeRecord(load) });
    load = { ...load, ...bytes(1_807, 3_000) };
    await expect.poll(told).toMatchObject({ value: encodeRecord(load) });
    const whole = load;
    for (const now of [{ ...load, stopped: [4] }, { ...load, stopped: [4, 7] }, whole]) {
      load = now;
      await expect.poll(told).toMatchObject({ value: encodeRecord(now) });
    }
    await coordinator.stop();
    expect(await told()).toBeUndefined();
  });

  test('says that it is not registered once in a while, not at every try', async () => {
    meta.available = false;
    clock = { ...systemClock, setTimer: (_, run) => systemClock.setTimer(0, run) };
    let tries = 0;
    const { grantLease } = store;
    store.grantLease = (ttlMs) => {
      tries++;
      return grantLease.call(store, ttlMs);
    };
    const { started } = start();
    await started;
    await expect.poll(() => tries).toBeGreaterThan(61);
    const told = warnings.filter(isNotRegistered);
    expect(told.length).toBeLessThanOrEqual(1 + tries / 60);
    expect(told[1]).toContain('"tries":61');
  });

  test('is told when its name belongs to another incarnation', async () => {
    const other: NodeRecord = { ...record, incarnation: 'two' };
    await store.put(keys.incarnation('n1'), encodeRecord(other));
    const { started, refusals } = start();
    await started;
    await expect.poll(() => refusals.length).toBe(1);
    expect(refusals[0]!.message).toMatch(/belongs to incarnation two; this data directory is/);
  });

  test('holds one lease, however often it tries to register', async () => {
    await store.put(keys.incarnation('n1'), '{"version": 99}');
    clock = { ...systemClock, setTimer: (_, run) => systemClock.setTimer(0, run) };
    const { started } = start();
    await started;
    await expect.poll(() => warnings.filter(isNotRegistered).length).toBeGreaterThan(1);
    expect(meta.leases.size).toBe(1);
    await store.delete(keys.incarnation('n1'));
    await expect.poll(() => store.get(keys.node('n1'))).toBeDefined();
    expect(meta.leases.size).toBe(1);
  });

  test('takes no registration over that lives at another address: it may be on a copy of its directory', async () => {
    const original = start({ bootId: 'first' });
    await original.started;
    await expect.poll(() => original.currents.length).toBe(1);
    const copy = start({ bootId: 'second', host: 'elsewhere' });
    await copy.started;
    await expect.poll(() => copy.refusals.length, { timeout: 10_000 }).toBe(1);
    expect(copy.refusals[0]!.message).toMatch(/another process is node n1 already, at h:1 with/);
    expect(original.refusals).toEqual([]);
    expect(copy.currents).toEqual([]);
  });

  test('is refused on an older copy of its directory, and never current', async () => {
    const first = start({ bootId: 'first' }, 4);
    await first.started;
    await expect.poll(() => first.currents.length).toBe(1);
    await first.coordinator.stop();
    const { value } = (await store.get(keys.incarnation('n1')))!;
    expect(JSON.parse(value)).toMatchObject({ incarnation: 'one', life: 5 });
    const older = start({ bootId: 'second' }, 4);
    await older.started;
    await expect.poll(() => older.refusals.length).toBe(1);
    expect(older.refusals[0]!.message).toMatch(/an older copy that was put back: it is of start 4/);
    expect(older.currents).toEqual([]);
    expect(await store.get(keys.node('n1'))).toBeUndefined();
  });

  test('waits for the lease of a former life of its own at another address', async () => {
    const lease = await store.grantLease(60_000);
    const former: NodeRecord = { ...record, bootId: 'former', host: 'elsewhere' };
    const value = encodeRecord(former);
    await store.transaction([], [{ type: 'put', key: keys.node('n1'), value, lease }]);
    const later = start({ bootId: 'now' });
    await later.started;
    await expect.poll(() => warnings.join()).toMatch(/registered at elsewhere:1: waiting for/);
    await lease.revoke();
    await expect.poll(() => later.currents.length, { timeout: 10_000 }).toBe(1);
    expect(later.refusals).toEqual([]);
  });

  test('ends when another process has registered in its place', async () => {
    const original = start({ bootId: 'first' });
    await original.started;
    await expect.poll(() => original.currents.length).toBe(1);
    const copy = start({ bootId: 'second' });
    await copy.started;
    await expect.poll(() => original.refusals.length).toBe(1);
    await expect.poll(() => copy.currents.length).toBe(1);
    expect(copy.refusals).toEqual([]);
  });

  test('takes over at once from a former life of its own, whose lease has not ended', async () => {
    const lease = await store.grantLease(60_000);
    const former: NodeRecord = { ...record, bootId: 'former' };
    const value = encodeRecord(former);
    await store.transaction([], [{ type: 'put', key: keys.node('n1'), value, lease }]);
    const { started, refusals, currents } = start({ bootId: 'now' });
    await started;
    await expect.poll(() => currents.length).toBe(1);
    expect(refusals).toEqual([]);
  });

  test('sees partitions only once their namespace is ready', async () => {
    const { started, view } = start();
    await started;
    await store.put(keys.namespace('default'), namespace(false));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    await expect.poll(() => view()).toBeDefined();
    expect(view()!.partitions()).toEqual([]);
    await store.put(keys.namespace('default'), namespace(true));
    await expect.poll(() => view()!.partitions()).toEqual([partition]);
  });

  test('serves the last picture while the store is away', async () => {
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    const first = start();
    await first.started;
    await expect.poll(() => first.view()?.partitions()).toEqual([partition]);
    await expect.poll(() => disk.exists('/d/table')).toBe(true);
    await first.coordinator.stop();
    meta.available = false;
    const second = start();
    await second.started;
    expect(second.view()?.partitions()).toEqual([partition]);
  });

  test('knows when what it sees is not older than its registration, once per life', async () => {
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    const first = start();
    await first.started;
    await expect.poll(() => first.currents).toEqual([1]);
    meta.relist();
    await expect.poll(() => disk.exists('/d/table')).toBe(true);
    await first.coordinator.stop();
    expect(first.currents).toEqual([1]);
    meta.available = false;
    const second = start();
    await second.started;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(second.view()?.partitions()).toEqual([partition]);
    expect(second.currents).toEqual([]);
    meta.available = true;
    await expect.poll(() => second.currents).toEqual([1]);
  });

  test('reports the leader of a newer group, whatever its term, and of no older one', async () => {
    const { coordinator, started } = start();
    await started;
    const key = keys.leader('default', 0);
    await store.put(key, encodeRecord(leaderRecord(0, 9, 1)));
    coordinator.reportLeader(leaderRecord(0, 3, 2));
    await expect.poll(async () => (await store.get(key))?.value).toContain('"group":2');
    coordinator.reportLeader(leaderRecord(0, 10, 1));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await store.get(key))?.value).toContain('"group":2');
  });

  test('a setting of the cluster reaches every node, and is kept while the store is away', async () => {
    const [one, other] = [start(), start({ node: 'n2' })];
    await Promise.all([one.started, other.started]);
    await one.coordinator.setSetting('colour', 'green');
    expect(one.view()?.setting('colour')).toBe('green');
    await expect.poll(() => other.view()?.setting('colour')).toBe('green');
    expect(other.changes.at(-1)).toMatchObject({ settings: true, table: false });
    await expect.poll(() => disk.exists('/d/table')).toBe(true);
    await Promise.all([one.coordinator.stop(), other.coordinator.stop()]);
    meta.available = false;
    const later = start();
    await later.started;
    expect(later.view()?.setting('colour')).toBe('green');
    await expect(later.coordinator.setSetting('colour', 'red')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
  });

  test('a saved picture of another version is as good as none', async () => {
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    await writeChecked(disk, '/d/table', { version: 2, places: {} });
    const { started, view } = start();
    await started;
    await expect.poll(() => view()?.partitions()).toEqual([partition]);
  });

  test('a saved picture that cannot be read is as good as none', async () => {
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    await writeChecked(disk, '/d/table', { version: 1, places: {} });
    disk.failNext('open', { code: 'EACCES', path: '/d/table' });
    const { started, view } = start();
    await started;
    await expect.poll(() => view()?.partitions()).toEqual([partition]);
  });

  test('reports a leader only ever to a higher term', async () => {
    const { coordinator, started } = start();
    await started;
    await store.put(keys.leader('default', 0), encodeRecord(leaderRecord(0, 5)));
    coordinator.reportLeader(leaderRecord(0, 4));
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await store.get(keys.leader('default', 0)))?.value).toContain('"term":5');
    meta.available = false;
    coordinator.reportLeader(leaderRecord(0, 6));
    await new Promise((resolve) => setTimeout(resolve, 50));
    meta.available = true;
    await expect
      .poll(async () => (await store.get(keys.leader('default', 0)))?.value)
      .toContain('"term":6');
  });

  test('a leader that lost its quorum says so, with the members that it told last', async () => {
    const { coordinator, started, view } = start();
    await started;
    const key = keys.leader('default', 0);
    const stored = async () => JSON.parse((await store.get(key))!.value) as LeaderRecord;
    const wanted = { ...partition, group: 7 };
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(wanted));
    coordinator.reportLeader(leaderRecord(0, 5, 7));
    await expect.poll(() => view()!.leads('n1')).toBe(1);
    coordinator.resign(wanted, 5);
    await expect.poll(stored).toEqual({ ...leaderRecord(0, 5, 7), resigned: true });
    await expect.poll(() => view()!.leads('n1')).toBe(0);
    expect(view()!.wantedLeaders()).toEqual([]);
    expect(view()!.resignedLeaders()).toMatchObject([[7, { node: 'n1', term: 5 }]]);
    expect(view()!.memberships().get(7)).toEqual(leaderRecord(0, 5, 7).membership);
    coordinator.reportLeader(leaderRecord(0, 6, 7));
    await expect.poll(stored).toEqual(leaderRecord(0, 6, 7));
    await expect.poll(() => view()!.resignedLeaders()).toEqual([]);
  });

  test.each(['nobody', 'another node', 'this node'])(
    'a leader that stepped down for a later term says so unless one is elected: %s',
    async (elected) => {
      const waits: (() => void)[] = [];
      const setTimer: Clock['setTimer'] = (delayMs, run) => {
        if (delayMs < 5_000) return systemClock.setTimer(delayMs, run);
        waits.push(run);
        return { cancel: () => {} };
      };
      clock = { ...systemClock, setTimer };
      const { coordinator, started, view } = start();
      await started;
      const key = keys.leader('default', 0);
      const stored = async () => JSON.parse((await store.get(key))!.value) as LeaderRecord;
      const next = leaderRecord(0, 6, 7);
      const there: LeaderRecord = { ...next, node: 'n2' };
      const wanted = { ...partition, group: 7 };
      await store.put(keys.namespace('default'), namespace(true));
      await store.put(keys.partition('default', 0), encodeRecord(wanted));
      await expect.poll(() => view()?.partitions()).toEqual([wanted]);
      coordinator.reportLeader(leaderRecord(0, 5, 7));
      await expect.poll(async () => (await store.get(key))?.value).toContain('"term":5');
      coordinator.resign(wanted, 6);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await stored()).toEqual(leaderRecord(0, 5, 7));
      if (elected === 'another node') await store.put(key, encodeRecord(there));
      if (elected === 'this node') {
        meta.available = false;
        coordinator.reportLeader(next);
      }
      expect(waits).toHaveLength(1);
      for (const wake of waits) wake();
      await new Promise((resolve) => setTimeout(resolve, 50));
      meta.available = true;
      const gone = { ...leaderRecord(0, 5, 7), resigned: true };
      const left = { nobody: gone, 'another node': there, 'this node': next }[elected];
      await expect.poll(stored).toEqual(left);
    },
  );

  test('what it led of a namespace that was deleted is forgotten', async () => {
    const { coordinator, started, view } = start();
    await started;
    const key = keys.leader('default', 0);
    const wanted = { ...partition, group: 7 };
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(wanted));
    await expect.poll(() => view()?.partitions()).toHaveLength(1);
    coordinator.reportLeader(leaderRecord(0, 5, 7));
    await expect.poll(() => store.get(key)).toBeDefined();
    for (const gone of [keys.namespace('default'), keys.partition('default', 0), key]) {
      await store.delete(gone);
    }
    await expect.poll(() => view()?.partitions()).toEqual([]);
    coordinator.resign(wanted, 5);
    coordinator.reportLeader(leaderRecord(1, 1, 8));
    await expect.poll(() => store.get(keys.leader('default', 1))).toBeDefined();
    expect(await store.get(key)).toBeUndefined();
  });

  test('what others led, or lead by now, stays as it is told', async () => {
    const { coordinator, started } = start();
    await started;
    const [key, next] = [keys.leader('default', 0), keys.leader('default', 1)];
    const wanted = { ...partition, group: 7 };
    const settled = async () => {
      later++;
      coordinator.reportLeader(leaderRecord(1, later, 8));
      await expect.poll(async () => (await store.get(next))?.value).toContain(`"term":${later}`);
    };
    let later = 1;
    await store.put(key, encodeRecord(leaderRecord(0, 5, 7)));
    coordinator.resign(wanted, 5); // it never led
    coordinator.reportLeader(leaderRecord(0, 6, 7));
    await settled();
    coordinator.resign(wanted, 7); // it heard of a later term first
    await settled();
    expect((await store.get(key))?.value).toBe(encodeRecord(leaderRecord(0, 6, 7)));
    coordinator.reportLeader(leaderRecord(0, 8, 7));
    await settled();
    await store.put(key, encodeRecord({ ...leaderRecord(0, 9, 7), node: 'n2' } as LeaderRecord));
    coordinator.resign(wanted, 8);
    await settled();
    expect(JSON.parse((await store.get(key))!.value)).toMatchObject({ node: 'n2', term: 9 });
  });

  test('many leaders that step down at once wait without a warning, and no longer than their node', async () => {
    let cancelled = 0;
    const setTimer: Clock['setTimer'] = (delayMs, run) =>
      delayMs === 5_000 ? { cancel: () => cancelled++ } : systemClock.setTimer(delayMs, run);
    clock = { ...systemClock, setTimer };
    const { coordinator, started } = start();
    await started;
    const warnings: string[] = [];
    const note = ({ name }: Error) => warnings.push(name);
    process.on('warning', note);
    const many = Array.from({ length: 12 }, (_, at) => at);
    for (const at of many) coordinator.reportLeader(leaderRecord(at, 5, 7));
    for (const at of many) coordinator.resign({ ...partition, partition: at, group: 7 }, 6);
    await new Promise((resolve) => setTimeout(resolve, 50));
    process.off('warning', note);
    expect(warnings).toEqual([]);
    await coordinator.stop();
    expect(cancelled).toBe(12);
  });

  test('a report of a higher group always wins, one of a lower group never', async () => {
    const { coordinator, started } = start();
    await started;
    const key = keys.leader('default', 0);
    const stored = async () => JSON.parse((await store.get(key))!.value) as LeaderRecord;
    // an older build named no group: then terms alone are compared
    await store.put(key, encodeRecord(leaderRecord(0, 9)));
    coordinator.reportLeader(leaderRecord(0, 10, 4));
    await expect.poll(stored).toMatchObject({ group: 4, term: 10 });
    coordinator.reportLeader(leaderRecord(0, 2, 5));
    await expect.poll(stored).toMatchObject({ group: 5, term: 2 });
    coordinator.reportLeader(leaderRecord(0, 11, 4));
    coordinator.reportLeader(leaderRecord(1, 1, 1));
    await expect.poll(() => store.get(keys.leader('default', 1))).toBeDefined();
    expect(await stored()).toMatchObject({ group: 5, term: 2 });
  });

  test('what was reported of another group tells nothing of the one that is wanted', async () => {
    const { started, view } = start();
    await started;
    const key = keys.leader('default', 0);
    const wanted: PartitionRecord = { ...partition, group: 7 };
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(wanted));
    await store.put(key, encodeRecord(leaderRecord(0, 5, 6)));
    await expect.poll(() => view()?.partitions()).toHaveLength(1);
    await store.put(keys.leader('default', 1), encodeRecord(leaderRecord(1, 1)));
    expect(view()!.wantedLeaders()).toEqual([]);
    expect([...view()!.memberships()]).toEqual([]);
    await store.put(key, encodeRecord(leaderRecord(0, 1, 7)));
    await expect.poll(() => view()!.memberships().get(7)).toMatchObject({ epoch: 1 });
    await store.put(key, encodeRecord(leaderRecord(0, 2)));
    await expect.poll(() => view()!.wantedLeaders()).toEqual([[7, leaderRecord(0, 2)]]);
    expect(view()!.memberships().get(7)).toBeDefined();
  });

  test('keeps a record that was overwritten by something that is none, and says so', async () => {
    await store.put(keys.namespace('default'), namespace(true));
    await store.put(keys.partition('default', 0), encodeRecord(partition));
    const { started, view } = start();
    await started;
    await expect.poll(() => view()?.partitions()).toEqual([partition]);
    const bent = { ...partition, epoch: 2, replicas: 'none' } as never;
    await store.put(keys.partition('default', 0), encodeRecord(bent));
    await expect.poll(() => errors).toHaveLength(1);
    expect(errors[0]).toMatch(/what was last read stays.*partitions.default.00000: replicas: /);
    meta.relist();
    await expect.poll(() => errors).toHaveLength(2);
    expect(view()!.partitions()).toEqual([partition]);
    await store.put(
      keys.partition('default', 0),
      encodeRecord({ ...partition, epoch: 3 } as never),
    );
    await expect.poll(() => view()!.partitions()[0]?.epoch).toBe(3);
  });

  test('takes over no table with a gap: every slot must lead somewhere', async () => {
    const half = { ...partition, lastSlot: 8_191 };
    await store.put(keys.partition('default', 0), encodeRecord(half));
    await store.put(keys.namespace('default'), namespace(true, 2));
    const { started, view } = start();
    await started;
    await expect.poll(() => errors.join()).toMatch(/partition 1 has no readable record/);
    expect(view()!.partitions()).toEqual([]);
    const rest = { ...partition, partition: 1, firstSlot: 8_192 };
    await store.put(keys.partition('default', 1), encodeRecord(rest));
    await expect.poll(() => view()!.partitions()).toEqual([half, rest]);
    await store.delete(keys.partition('default', 0));
    await expect.poll(() => errors.join()).toMatch(/partition 0 has no readable record/);
    expect(view()!.partitions()).toEqual([half, rest]);
  });

  test('a record that cannot be read holds up no report but its own, and is not lost', async () => {
    await store.put(keys.leader('default', 0), '{"version":1,"term":"high"}');
    const { coordinator, started } = start();
    await started;
    coordinator.reportLeader(leaderRecord(0, 5));
    coordinator.reportLeader(leaderRecord(1, 5));
    await expect.poll(() => store.get(keys.leader('default', 1))).toBeDefined();
    expect((await store.get(keys.leader('default', 0)))?.value).toContain('high');
    expect(errors.filter((line) => /not reported.*leaders.default.00000/.test(line))).toHaveLength(
      1,
    );
    await store.delete(keys.leader('default', 0));
    await expect
      .poll(async () => (await store.get(keys.leader('default', 0)))?.value)
      .toContain('"term":5');
  });
});
