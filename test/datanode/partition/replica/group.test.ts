import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import type { WireMessage } from '../../../../src/datanode/raft/message.ts';
import { batchOf, Trio, textOf } from '../trio.ts';

let trio: Trio;
/** How far the wall clocks of all nodes are ahead. */
let aheadMs: number;

beforeEach(async () => {
  trio = new Trio({ clockSkewMaxMs: 3_600_000 });
  aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  for (const node of ['n1', 'n2', 'n3']) {
    trio.clocks.set(node, clock);
    await trio.start(node);
  }
});

afterEach(async () => {
  await trio.destroy();
  expect(trio.faults).toEqual([]);
});

describe('what a node counts', () => {
  test('lookups and expired keys count where the group is led, applying everywhere', async () => {
    expect(await trio.run('write', 'SET a 1', 'SET b 2', 'SET c 3 PX 30')).toHaveLength(3);
    await trio.run('read', 'GET a', 'GET nothing', 'MGET a b nothing', 'EXISTS a');
    const leader = await trio.leader();
    const led = trio.hosts.get(`n${leader.id}`)!.meters;
    expect(led.lookups).toEqual({ hits: 4, misses: 2 });
    await expect.poll(() => led.expiredKeys).toBe(1);
    for (const host of trio.hosts.values()) {
      // the leader may add an entry meanwhile
      const behind = () => leader.appliedIndex - host.local('default', 0)!.appliedIndex;
      await expect.poll(behind).toBe(0);
      expect(host.meters.apply.count).toBeGreaterThan(0);
      if (host.meters === led) continue;
      expect(host.meters.lookups).toEqual({ hits: 0, misses: 0 });
      expect(host.meters.expiredKeys).toBe(0);
    }
    led.reset();
    expect([led.lookups.hits, led.lookups.misses, led.expiredKeys]).toEqual([0, 0, 0]);
  });
});

/** The leader's log holds nothing of the first `count` entries any more. */
async function forgotten(count: number): Promise<void> {
  const { id } = await trio.leader();
  const logged = trio.logs.get(`n${id}`)?.replica(id);
  await expect.poll(() => logged?.firstIndex()).toBeGreaterThan(count);
}

describe('a group of three', () => {
  test('orders writes, answers reads with what was written', async () => {
    expect(await trio.run('write', 'SET a 1', 'INCR a', 'SET b x')).toEqual(['+OK', ':2', '+OK']);
    expect(await trio.run('read', 'GET a', 'GET b', 'GET c')).toEqual([
      '$1\r\n2',
      '$1\r\nx',
      '$-1',
    ]);
  });

  test('refuses what a follower or another term is asked', async () => {
    const leader = await trio.leader();
    const follower = [...trio.hosts.values()]
      .map((host) => host.local('default', 0)!)
      .find((replica) => !replica.isLeader)!;
    const batch = {
      namespace: 'default',
      partition: 0,
      kind: 'write',
      lines: [[Buffer.from('INCR'), Buffer.from('n')]],
      protocol: 2,
      deadlineMs: systemClock.monotonicMs() + 1_000,
    } as const;
    expect((await follower.execute({ ...batch, term: undefined })).map(textOf)).toEqual([
      'NOT_LEADER',
    ]);
    expect((await leader.execute({ ...batch, term: leader.term - 1 })).map(textOf)).toEqual([
      'TERM_CHANGED',
    ]);
    expect(await trio.run('read', 'GET n')).toEqual(['$-1']);
  });

  test('goes on without its leader, which comes back and catches up', async () => {
    await trio.run('write', 'SET a 1');
    const old = `n${(await trio.leader()).id}`;
    await trio.stop(old);
    for (const host of trio.hosts.values()) host.onPeer(old, false);
    for (let at = 0; at < 20; at++) await trio.run('write', `INCR a`);
    await trio.start(old);
    expect(await trio.run('read', 'GET a')).toEqual(['$2\r\n21']);
    await trio.caughtUp(old, (await trio.leader()).appliedIndex);
  });

  test('all stopped and started again have everything', async () => {
    for (let at = 0; at < 30; at++) await trio.run('write', `SET k${at} v${at}`);
    for (const node of ['n1', 'n2', 'n3']) await trio.stop(node);
    for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
    for (let at = 0; at < 30; at++) {
      expect(await trio.run('read', `GET k${at}`)).toEqual([`$${`v${at}`.length}\r\nv${at}`]);
    }
  });

  test('FLUSHALL empties the partition at one moment, in its place among the writes', async () => {
    for (let from = 0; from < 3_000; from += 500) {
      const lines = Array.from({ length: 500 }, (_, at) => `SET k${from + at} v`);
      await trio.run('write', ...lines);
    }
    const counts = new Set<number>();
    let flushed = false;
    const watching = (async () => {
      while (!flushed) {
        const [keys] = await trio.run('read', 'KEYS *');
        // many are packed
        const packed = /"units":(\d+)/.exec(keys!)?.[1];
        counts.add(packed ? Number(packed) : (keys!.match(/"bulk"/g)?.length ?? 0));
      }
    })();
    const replies = await trio.run(
      'write',
      'SET k0 early',
      'INCR n',
      'FLUSHALL',
      'INCR n',
      'SET late 1',
    );
    flushed = true;
    await watching;
    expect(replies).toEqual(['+OK', ':1', '+OK', ':1', '+OK']);
    expect([...counts].filter((count) => count !== 3_000 && count !== 2)).toEqual([]);
    expect(await trio.run('read', 'DBSIZE', 'GET k0', 'GET n', 'GET late')).toEqual([
      ':2',
      '$-1',
      '$1\r\n1',
      '$1\r\n1',
    ]);
    for (const node of ['n1', 'n2', 'n3']) await trio.stop(node);
    for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
    expect(await trio.run('read', 'DBSIZE', 'GET late')).toEqual([':2', '$1\r\n1']);
    await expect
      .poll(
        () => new Set([...trio.hosts.values()].map((host) => host.replicas()[0]!.counts().keys)),
      )
      .toEqual(new Set([2]));
  });

  test('a message for a replica that a node never had creates nothing and is answered gone', async () => {
    await trio.leader();
    const heartbeat = { type: 'heartbeat', from: 1, to: 99, term: 9, commit: 5, readContext: 0 };
    trio.hosts.get('n2')!.onMessages('n1', [{ group: 1, message: heartbeat as WireMessage }]);
    trio.hosts.get('n2')!.onMessages('n1', [{ group: 77, message: heartbeat as WireMessage }]);
    expect(trio.sent.filter((line) => line.startsWith('gone'))).toEqual(['gone 99>1', 'gone 99>1']);
    expect(trio.hosts.get('n2')!.replicas()).toHaveLength(1);
    expect(await trio.run('write', 'SET a 1')).toEqual(['+OK']);
  });

  test('a leader cut off serves no read that misses a newer write', async () => {
    await trio.run('write', 'SET a old');
    const old = await trio.leader();
    for (const node of ['n1', 'n2', 'n3']) {
      trio.cut.add(`n${old.id}>${node}`);
      trio.cut.add(`${node}>n${old.id}`);
    }
    await trio.run('write', 'SET a new');
    const results = await old.execute({
      namespace: 'default',
      partition: 0,
      kind: 'read',
      lines: [[Buffer.from('GET'), Buffer.from('a')]],
      protocol: 2,
      term: undefined,
      deadlineMs: systemClock.monotonicMs() + 300,
    });
    expect(['NOT_LEADER', 'NO_LEADER']).toContain(results.map(textOf)[0]);
    trio.cut.clear();
    expect(await trio.run('read', 'GET a')).toEqual(['$3\r\nnew']);
  });

  test('sends a snapshot to a follower that its log no longer reaches', async () => {
    const leader = await trio.leader();
    const away = `n${(leader.id % 3) + 1}`;
    await trio.stop(away);
    for (let at = 0; at < 400; at++) await trio.run('write', `SET s${at} ${'x'.repeat(100)}`);
    await forgotten(100);
    await trio.start(away);
    await trio.caughtUp(away, (await trio.leader()).appliedIndex);
    await trio.run('write', 'SET after 1');
    await trio.caughtUp(away, (await trio.leader()).appliedIndex);
    await trio.stop(away);
    await trio.start(away);
    await trio.caughtUp(away, (await trio.leader()).appliedIndex);
  });

  test('a snapshot in the place of what a deposed leader proposed answers its clients', async () => {
    await trio.run('write', 'SET a 1');
    const old = await trio.leader();
    for (const node of ['n1', 'n2', 'n3']) {
      trio.cut.add(`n${old.id}>${node}`);
      trio.cut.add(`${node}>n${old.id}`);
    }
    const answer = old.execute(batchOf('write', ['SET a old']));
    await expect.poll(() => old.isLeader, { timeout: 5_000 }).toBe(false);
    for (let at = 0; at < 400; at++) await trio.run('write', `SET s${at} ${'x'.repeat(100)}`);
    await forgotten(100);
    trio.forgetStreams();
    trio.cut.clear();
    await trio.caughtUp(`n${old.id}`, (await trio.leader()).appliedIndex);
    expect(trio.offsetsTo(`n${old.id}`)).toEqual([0]);
    const message = 'a snapshot took the place of the log';
    expect(await answer).toMatchObject([{ ok: false, code: 'OUTCOME_UNKNOWN', message }]);
  });

  test('a snapshot stream that breaks goes on where it was', async () => {
    const leader = await trio.leader();
    const away = `n${(leader.id % 3) + 1}`;
    await trio.stop(away);
    const value = 'x'.repeat(20_000);
    for (let at = 0; at < 200; at++) await trio.run('write', `SET s${at} ${value}`);
    await forgotten(100);
    trio.forgetStreams();
    trio.breakStreamsAfter.push(8, 12, 1);
    await trio.start(away);
    await trio.caughtUp(away, (await trio.leader()).appliedIndex);
    const offsets = trio.offsetsTo(away);
    const [first, ...later] = offsets;
    expect(first).toBe(0);
    expect(later.length).toBeGreaterThanOrEqual(3);
    for (const [at, offset] of later.slice(0, 3).entries()) {
      expect(offset).toBeGreaterThan(offsets[at]!);
    }
    const replica = trio.hosts.get(away)!.local('default', 0)!;
    expect(replica.counts().keys).toBe(200);
    expect(trio.faults).toEqual([]);
  });

  test('keys expire by the group’s time and stay gone', async () => {
    await trio.run('write', 'SET e 1 PX 600000', 'SET f 1');
    expect(await trio.run('read', 'GET e')).toEqual(['$1\r\n1']);
    aheadMs = 600_001;
    expect(await trio.run('read', 'GET e', 'EXISTS f')).toEqual(['$-1', ':1']);
    aheadMs = 0; // the clocks are set back
    expect(await trio.run('read', 'GET e')).toEqual(['$-1']);
    await expect.poll(() => trio.run('read', 'DBSIZE')).toEqual([':1']);
  });
});
