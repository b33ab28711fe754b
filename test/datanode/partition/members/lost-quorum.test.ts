import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { fsDisk } from '../../../../src/common/fs-disk.ts';
import { ReplicaNotes } from '../../../../src/datanode/partition/host/replica-notes.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { Trio } from '../trio.ts';

let trio: Trio;

beforeEach(async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(async () => {
  await trio.destroy();
});

const on = (replica: number, node: string, incarnation = 'i') => ({ replica, node, incarnation });
const survivor = on(1, 'n1');
const others = ['n2', 'n3'];

/** What runs on a node: group and replica. */
const running = (node: string) =>
  trio.hosts
    .get(node)!
    .replicas()
    .map(({ id, record }) => `${record.group}:${id}`);

function votersAre(group: number, ...voters: number[]) {
  return expect
    .poll(() => trio.memberships.get(group), { timeout: 30_000 })
    .toMatchObject({ voters, learners: [], joint: false, epoch: trio.record.epoch });
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes that all three have applied. */
async function writeAll(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await trio.run('write', `SET k${at} ${at}`);
  const { appliedIndex } = await trio.leader();
  for (const node of ['n1', ...others]) await trio.caughtUp(node, appliedIndex);
}

async function lose(): Promise<void> {
  for (const node of others) await trio.stop(node);
}

/** Proposes what no quorum will ever acknowledge. */
async function appendAlone(replica: Replica, line: string): Promise<void> {
  const before = replica.inspect().log.lastIndex();
  void replica.execute({
    namespace: 'default',
    partition: 0,
    kind: 'write',
    lines: [line.split(' ').map((word) => Buffer.from(word))],
    protocol: 2,
    term: undefined,
    deadlineMs: systemClock.monotonicMs() + 10_000,
  });
  await expect.poll(() => replica.inspect().log.lastIndex()).toBe(before + 1);
}

describe('a group rebuilt from a survivor', () => {
  test('has all the survivor held, goes on, and is filled up', async () => {
    await writeAll(20);
    await lose();
    await trio.rebuild(survivor);
    await votersAre(2, 1);
    expect(running('n1')).toEqual(['2:1']);
    expect(await trio.run('read', 'GET k19')).toEqual(['$2\r\n19']);
    expect(await trio.run('write', 'SET new 1')).toEqual(['+OK']);
    for (const node of others) await trio.start(node);
    await trio.want([survivor, on(4, 'n2'), on(5, 'n3')]);
    await votersAre(2, 1, 4, 5);
    const { appliedIndex } = await trio.leader();
    for (const node of others) await trio.caughtUp(node, appliedIndex);
    expect(running('n2')).toEqual(['2:4']);
    expect(trio.hosts.get('n3')!.local('default', 0)!.counts().keys).toBe(21);
    // the survivor may go now
    await trio.stop('n1');
    expect(await trio.run('read', 'GET new')).toEqual(['$1\r\n1']);
    expect(trio.faults).toEqual([]);
  });

  test('keeps what was appended and not committed, and no change of members from before', async () => {
    await writeAll(3);
    const leader = await trio.leader();
    const own = trio.record.replicas.find(({ replica }) => replica === leader.id)!;
    const lost = trio.record.replicas.filter(({ replica }) => replica !== leader.id);
    for (const { node } of lost) await trio.stop(node);
    await appendAlone(leader, 'SET tail kept');
    await trio.want([own, lost[0]!, on(4, lost[1]!.node, 'j')]);
    const { log } = leader.inspect();
    const kinds = () => {
      const entries = log.entries(log.firstIndex(), log.lastIndex() + 1, 1_000_000);
      return entries === 'compacted' ? [] : entries.map(({ kind }) => kind);
    };
    await expect.poll(kinds).toContain('confChangeV2');
    await trio.rebuild(own);
    await votersAre(2, leader.id);
    expect(await trio.run('read', 'GET tail')).toEqual(['$4\r\nkept']);
    const { voters, learners } = (await trio.leader()).state.confState;
    expect({ voters, learners }).toEqual({ voters: [leader.id], learners: [] });
    expect(trio.faults).toEqual([]);
  });

  test('a crash after each step of the switch: no older table serves, the newest finishes it', async () => {
    await writeAll(5);
    const old = trio.record;
    await lose();
    await trio.stop('n1');
    // noted, nothing else
    const notes = await ReplicaNotes.open(fsDisk, `${trio.dir}/n1`, 'i');
    await notes.addOrigins(new Map([[1, { group: 2, epoch: 2 }]]));
    trio.offline.set('n1', old);
    await trio.start('n1');
    expect(running('n1')).toEqual([]);
    await trio.rebuild(survivor);
    await trio.online('n1');
    await votersAre(2, 1);
    expect(await trio.run('read', 'GET k4')).toEqual(['$1\r\n4']);
    // all done, and the table of before in its place
    await trio.stop('n1');
    trio.offline.set('n1', old);
    await trio.start('n1');
    await pause(300);
    expect(running('n1')).toEqual([]);
    await trio.online('n1');
    expect(await trio.run('write', 'SET k4 5')).toEqual(['+OK']);
    await trio.stop('n1');
    await trio.start('n1');
    expect(await trio.run('read', 'GET k4')).toEqual(['$1\r\n5']);
  });

  test('nothing is made of a replica that is not there, or never was filled', async () => {
    await writeAll(1);
    await trio.rebuild(on(9, 'n1'));
    expect([...trio.hosts.get('n1')!.faults().values()].join()).toContain(
      'replica 9, from which the partition was to be rebuilt, is not on this node',
    );
    expect(trio.memberships.get(2)).toBeUndefined();
    // the data of the others is kept: another may be named
    await trio.rebuild(on(2, 'n2'));
    await votersAre(3, 2);
    expect(await trio.run('read', 'GET k0')).toEqual(['$1\r\n0']);
    await expect.poll(() => trio.logs.get('n1')!.isTombstone(1)).toBe(true);
  });
});

describe('the lost ones that come back', () => {
  test('are destroyed once the rebuilt group has a leader', async () => {
    await writeAll(5);
    await lose();
    await trio.rebuild(survivor);
    await votersAre(2, 1);
    await trio.run('write', 'SET k1 newer');
    for (const node of others) await trio.start(node);
    for (const [node, id] of [
      ['n2', 2],
      ['n3', 3],
    ] as const) {
      await expect.poll(() => trio.logs.get(node)!.isTombstone(id)).toBe(true);
      expect(running(node)).toEqual([]);
      expect(await trio.engines.get(node)!.list()).toEqual([]);
    }
    await expect.poll(() => trio.logs.get('n1')!.isTombstone(1)).toBe(false);
    expect(await trio.run('read', 'GET k1')).toEqual(['$5\r\nnewer']);
  });

  test('with an old table and nobody to ask take part in nothing, though they are a quorum', async () => {
    await writeAll(5);
    const old = trio.record;
    await lose();
    await trio.rebuild(survivor);
    await votersAre(2, 1);
    await trio.run('write', 'SET k1 newer');
    for (const node of others) trio.cut.add(`${node}>n1`).add(`n1>${node}`);
    for (const node of others) trio.offline.set(node, old);
    for (const node of others) await trio.start(node);
    expect(running('n2')).toEqual(['1:2']);
    const terms = others.map((node) => trio.hosts.get(node)!.local('default', 0)!.term);
    trio.sent.length = 0;
    await pause(1_000);
    const [n2, n3] = others.map((node) => trio.hosts.get(node)!.local('default', 0)!);
    expect([n2!.isLeader, n3!.isLeader]).toEqual([false, false]);
    expect([n2!.term, n3!.term]).toEqual(terms);
    // nothing was asked of each other, promised or acknowledged
    expect(trio.sent.filter((line) => !/>[01]$/.test(line))).toEqual([]);
    // the survivor's node can be reached: it knows
    trio.cut.clear();
    await expect.poll(() => [running('n2'), running('n3')]).toEqual([[], []]);
    expect(trio.logs.get('n2')!.isTombstone(2)).toBe(false);
    for (const node of others) await trio.online(node);
    for (const [node, id] of [
      ['n2', 2],
      ['n3', 3],
    ] as const) {
      await expect.poll(() => trio.logs.get(node)!.isTombstone(id)).toBe(true);
    }
  });

  test('which never stopped, cut off from everybody, stop when they hear of it', async () => {
    await writeAll(5);
    for (const node of others) {
      trio.cut.add(`${node}>n1`).add(`n1>${node}`);
      trio.offline.set(node, trio.record);
    }
    trio.cut.add('n1>n1');
    await trio.rebuild(survivor);
    await votersAre(2, 1);
    trio.cut.clear();
    await expect.poll(() => [running('n2'), running('n3')], { timeout: 30_000 }).toEqual([[], []]);
    expect(running('n1')).toEqual(['2:1']);
  });
});

describe('a node that comes back while the metadata store is away', () => {
  test('takes part once every other member says that it runs', async () => {
    await writeAll(3);
    for (const node of ['n1', ...others]) {
      await trio.stop(node);
      trio.offline.set(node, trio.record);
    }
    await trio.start('n1');
    await trio.start('n2');
    await pause(500);
    expect(
      [...trio.hosts.values()].flatMap((host) => host.replicas().filter((of) => of.isLeader)),
    ).toEqual([]);
    await trio.start('n3');
    expect(await trio.run('read', 'GET k2')).toEqual(['$1\r\n2']);
  });

  test('or once it has read the store again', async () => {
    await writeAll(3);
    await lose();
    trio.offline.set('n2', trio.record);
    await trio.start('n2');
    await pause(500);
    expect(trio.hosts.get('n2')!.local('default', 0)!.leader).toBe(0);
    await trio.online('n2');
    expect(await trio.run('write', 'SET k2 3')).toEqual(['+OK']);
  });
});
