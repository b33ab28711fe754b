import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { KvorumError } from '../../../../src/common/errors.ts';
import { limits } from '../../../../src/common/limits.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
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

function votersAre(...voters: number[]) {
  return expect
    .poll(() => trio.memberships.get(1))
    .toMatchObject({ voters, learners: [], joint: false, epoch: trio.record.epoch });
}

describe('members follow the wanted record', () => {
  test('a wiped node comes back under a new replica id, filled while writes go on', async () => {
    for (let at = 0; at < 300; at++) await trio.run('write', `SET k${at} ${'v'.repeat(1_000)}`);
    await trio.wipe('n3');
    expect(trio.hosts.get('n3')!.replicas()).toEqual([]);
    let writing = true;
    let written = 0;
    const writer = (async () => {
      while (writing) {
        expect(await trio.run('write', 'INCR n')).toEqual([`:${++written}`]);
      }
    })();
    await trio.want([on(1, 'n1'), on(2, 'n2'), on(4, 'n3', 'i+')]);
    await votersAre(1, 2, 4);
    writing = false;
    await writer;
    expect(trio.catchingUp.map(({ replica }) => replica)).toContain(4);
    expect(trio.catchingUp.every(({ match, last }) => match <= last && last > 300)).toBe(true);
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
    const replica = trio.hosts.get('n3')!.local('default', 0)!;
    expect(replica.id).toBe(4);
    expect(replica.counts().keys).toBe(301);
    // the others may go: what it was sent counts for the quorum
    const leader = await trio.leader();
    await trio.stop(leader.id === 1 ? 'n1' : 'n2');
    expect(await trio.run('read', 'GET n')).toEqual([`$${`${written}`.length}\r\n${written}`]);
  });

  test('a damaged replica stops for good and is replaced; its data goes', async () => {
    await trio.run('write', 'SET a 1');
    const broken = trio.hosts.get('n3')!.local('default', 0)!;
    broken.fail(new KvorumError('CORRUPT', 'engines/3-0/000005.ldb:17: checksum mismatch'));
    await trio.run('write', 'SET b 2');
    await trio.stop('n3');
    await trio.start('n3');
    expect(trio.hosts.get('n3')!.replicas()).toEqual([]);
    expect([...trio.hosts.get('n3')!.faults().values()].join()).toContain('000005.ldb:17');
    await trio.want([on(1, 'n1'), on(2, 'n2'), on(4, 'n3')]);
    await votersAre(1, 2, 4);
    await expect.poll(() => trio.logs.get('n3')!.isTombstone(3)).toBe(true);
    await expect.poll(() => trio.engines.get('n3')!.list()).toEqual(['4-1']);
    expect(trio.hosts.get('n3')!.faults().size).toBe(0);
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
    await trio.stop('n3');
    await trio.start('n3');
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
  });

  test('a replica that meets what a newer build wrote stops, undamaged, until it is upgraded', async () => {
    await trio.run('write', 'SET a 1');
    const older = trio.hosts.get('n3')!.local('default', 0)!;
    older.fail(new KvorumError('TOO_NEW', 'log entry of version 1/4; upgrade kvorum on this node'));
    await trio.run('write', 'SET b 2');
    expect([...trio.hosts.get('n3')!.faults().values()].join()).toContain('upgrade kvorum');
    await trio.stop('n3');
    await trio.start('n3');
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
    expect(trio.hosts.get('n3')!.faults().size).toBe(0);
    expect(trio.hosts.get('n3')!.local('default', 0)!.id).toBe(3);
  });

  test('a replica whose log has lost what it acknowledged is damaged; its node goes on', async () => {
    await trio.run('write', 'SET a 1');
    const { id, term } = await trio.leader();
    const follower = id === 3 ? 2 : 3;
    const host = trio.hosts.get(`n${follower}`)!;
    const place = { from: id, to: follower, term };
    const message = { type: 'heartbeat', ...place, commit: 10_000, readContext: 0 } as const;
    host.onMessages(`n${id}`, [{ group: trio.record.group, message }]);
    expect(host.replicas()).toEqual([]);
    expect([...host.faults().values()].join()).toMatch(
      /its raft log ends at \d+, but it has acknowledged entries up to 10000: an older copy/,
    );
    await trio.run('write', 'SET b 2');
    await trio.stop(`n${follower}`);
    await trio.start(`n${follower}`);
    expect(trio.hosts.get(`n${follower}`)!.replicas()).toEqual([]);
  });

  test('a replica that was to come and is lost again makes room for the next', async () => {
    await trio.run('write', 'SET a 1');
    await trio.wipe('n3');
    await trio.stop('n3');
    await trio.want([on(1, 'n1'), on(2, 'n2'), on(4, 'n3', 'i+')]);
    await expect.poll(() => trio.memberships.get(1)?.learners).toEqual([4]);
    await trio.start('n3');
    await trio.wipe('n3');
    await trio.want([on(1, 'n1'), on(2, 'n2'), on(5, 'n3', 'i++')]);
    await votersAre(1, 2, 5);
  });

  test('a leader that is to go hands over and is removed', async () => {
    await trio.run('write', 'SET a 1');
    const leader = await trio.leader();
    const node = `n${leader.id}`;
    const rest = trio.record.replicas.filter(({ replica }) => replica !== leader.id);
    await trio.want(rest);
    await votersAre(...rest.map(({ replica }) => replica));
    await expect.poll(() => trio.hosts.get(node)!.replicas().length).toBe(0);
    expect(trio.logs.get(node)!.isTombstone(leader.id)).toBe(true);
    expect(await trio.run('read', 'GET a')).toEqual(['$1\r\n1']);
  });

  test('a record that changes no member is served all the same', async () => {
    await trio.want([...trio.record.replicas].reverse());
    await votersAre(1, 2, 3);
  });
});

test('a replica that is stopped answers first what it knows to be committed', async () => {
  const slow = new Trio();
  let writeMs = 0;
  const latencyMs = (operation: string) => (operation === 'write' ? writeMs : 0);
  for (const node of ['n1', 'n2', 'n3']) {
    slow.engines.set(node, createMemoryHost({ clock: systemClock, latencyMs }));
    await slow.start(node);
  }
  try {
    await slow.run('write', 'SET n 1');
    const leader = await slow.leader();
    const committed = () => leader.inspect().raft.committed - leader.appliedIndex;
    await expect.poll(committed).toBe(0);
    writeMs = 1_000;
    // too large to be written behind
    const value = 'x'.repeat(limits.engineBehindBatchBytesMax);
    const first = slow.run('write', `SET large ${value}`);
    await expect.poll(committed, { interval: 5 }).toBe(1);
    // behind the batch that is being written
    const second = slow.run('write', 'INCR n');
    await expect.poll(committed, { interval: 5 }).toBe(2);
    await slow.stop(`n${leader.id}`);
    expect([await first, await second]).toEqual([['+OK'], [':2']]);
  } finally {
    writeMs = 0;
    await slow.destroy();
  }
});
