/** What is on disk before replicas of a node are made, opened, or let go. */
import { expect, test } from 'vitest';
import { silentLogger } from '../../../../src/common/log.ts';
import type { EngineHost } from '../../../../src/datanode/engine/engine.ts';
import type {
  Origin,
  ReplicaNotes,
} from '../../../../src/datanode/partition/host/replica-notes.ts';
import {
  ReplicaSet,
  type WantedTable,
} from '../../../../src/datanode/partition/host/replica-set.ts';
import type { LogAppend, RaftLog } from '../../../../src/datanode/raftlog/raft-log.ts';
import type { PartitionRecord } from '../../../../src/meta/schema.ts';

const on = (replica: number, node: string) => ({ replica, node, incarnation: 'i' });
const birth = [on(1, 'n1'), on(2, 'n2'), on(3, 'n3')];

function tableOf(epoch: number, replicas = birth, underLease: string[] = []): WantedTable {
  const record = { namespace: 'default', partition: 0, group: 1, epoch, replicas, birth };
  const voters = replicas.map(({ replica }) => replica);
  const membership = { epoch, voters, learners: [], joint: false };
  return {
    records: [record as unknown as PartitionRecord],
    memberships: new Map([[1, membership]]),
    deletions: [],
    underLease: new Set(underLease),
  };
}

/**
 * Node n3, whose disk is the test: what is done, in order. `held`: its log holds replica 3, as the
 * record of epoch 1 wanted it. Engines cannot be opened.
 */
function scene(held: boolean, damage?: string) {
  const done: string[] = [];
  const waiting: (() => void)[] = [];
  /** `what` ends with the next `finish`. */
  const slow = (what: string) => {
    done.push(what);
    return new Promise<void>((resolve) => {
      waiting.push(() => {
        done.push(`${what}: done`);
        resolve();
      });
    });
  };
  const origins = new Map<number, Origin>(held ? [[3, { group: 1, epoch: 1 }]] : []);
  const notes = {
    origins: () => origins,
    damage: () => damage,
    addOrigins: ({ size }: ReadonlyMap<number, Origin>) =>
      size > 0 ? slow('origins') : Promise.resolve(),
    addPromising: (ids: readonly number[]) =>
      ids.length > 0 ? slow('promising') : Promise.resolve(),
    addDamage: async () => {},
    forget: async () => done.push('notes forgotten'),
  };
  let isHeld = held;
  const log = {
    replicas: () => (isHeld ? [3] : []),
    replica: () => (isHeld ? { generation: 2 } : undefined),
    isTombstone: () => false,
    append: ({ replica, tombstone }: LogAppend) => {
      done.push(`tombstone ${tombstone} ${replica}`);
      isHeld = false;
    },
    flush: () => (done.at(-1)?.startsWith('tombstone') ? slow('log') : Promise.resolve()),
  };
  const engines = {
    list: async () => ['3-2', '31-0'],
    remove: async (name: string) => done.push(`engine ${name} removed`),
    open: (name: string) => {
      done.push(`engine ${name} opened`);
      return Promise.reject(new Error('no engine'));
    },
  };
  const faults: string[] = [];
  const removed: number[] = [];
  const set = new ReplicaSet({
    ...{ node: 'n3', incarnation: 'i', logger: silentLogger, settings: {} as never },
    log: log as unknown as RaftLog,
    engines: engines as unknown as EngineHost,
    notes: notes as unknown as ReplicaNotes,
    worldOf: () => expect.unreachable('nothing is opened'),
    ...{ onOpened: () => {}, after: () => {} },
    onRemoved: (group) => removed.push(group),
    onFault: (_record, _id, error) => faults.push(error.message),
  });
  /** What has been done by when nothing more happens by itself. */
  const soFar = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    return done.splice(0);
  };
  return { set, soFar, faults, removed, finish: () => waiting.shift()!() };
}

test('a replica is made once its origin is noted, and that it may promise its vote', async () => {
  const { set, soFar, finish } = scene(false);
  void set.apply(tableOf(1, birth, ['default']));
  expect(await soFar()).toEqual(['origins']);
  finish();
  expect(await soFar()).toEqual(['origins: done', 'promising']);
  finish();
  expect(await soFar()).toEqual(['promising: done', 'engine 3-0 removed', 'engine 3-0 opened']);
});

test('one that is let go leaves no data once its tombstone is durable, and not before', async () => {
  const { set, soFar, finish } = scene(true);
  void set.apply(tableOf(2, [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')]));
  expect(await soFar()).toEqual(['tombstone true 3', 'log']);
  finish();
  expect(await soFar()).toEqual(['log: done', 'engine 3-2 removed', 'notes forgotten']);
});

test('one that was found damaged is never opened again', async () => {
  const { set, soFar, faults } = scene(true, 'a record is not sound');
  void set.apply(tableOf(1));
  expect(await soFar()).toEqual([]);
  expect(faults).toEqual(['a record is not sound']);
});

test('what was known of a group goes as well when its replica had stopped before', async () => {
  const { set, soFar, finish, removed } = scene(true, 'a record is not sound');
  void set.apply(tableOf(1));
  await soFar();
  void set.apply(tableOf(2, [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')]));
  await soFar();
  finish();
  await soFar();
  expect(removed).toEqual([1]);
  expect([...set.faults()]).toEqual([]);
});

test('one that could not be made is no fault any more once it is not wanted', async () => {
  const { set, soFar, finish, removed } = scene(false);
  void set.apply(tableOf(1));
  await soFar();
  finish();
  await soFar();
  expect([...set.faults().keys()]).toEqual([1]);
  void set.apply({ ...tableOf(1), records: [] });
  await soFar();
  expect([...set.faults().keys()]).toEqual([]);
  expect(removed).toEqual([1]);
});

test('of the tables that come while one is carried out the last one is, and once', async () => {
  const { set, soFar, finish } = scene(true);
  const plans: number[] = [];
  const apply = (epoch: number, replicas = birth) => {
    const table = tableOf(epoch, replicas);
    const read = () => {
      plans.push(epoch);
      return table.records;
    };
    return set.apply(
      Object.defineProperty({ ...table }, 'records', { get: read, enumerable: true }),
    );
  };
  const others = [on(1, 'n1'), on(2, 'n2'), on(4, 'n4')];
  void apply(2, others);
  await soFar();
  for (const epoch of [3, 4, 5]) void apply(epoch, others);
  const last = apply(6, others);
  finish();
  await last;
  expect(plans).toEqual([2, 6]);
  void apply(7, others);
  await soFar();
  expect(plans).toEqual([2, 6, 7]);
});
