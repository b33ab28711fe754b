/** A state that nobody foresaw ends the replica that is in it, and neither its node nor others. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Effects, type EffectsGround } from '../../../../src/datanode/partition/replica/effects.ts';
import {
  type AppendWork,
  LogWriter,
} from '../../../../src/datanode/partition/storage/log-writer.ts';
import type { Message, PeerMessage } from '../../../../src/datanode/raft/message.ts';
import type { RaftLog, ReplicaLog } from '../../../../src/datanode/raftlog/raft-log.ts';
import { Trio } from '../trio.ts';

let trio: Trio;
beforeEach(() => {
  trio = new Trio();
});
afterEach(() => trio.destroy());

test('an append that contradicts what is committed stops the replica, on a node that goes on', async () => {
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  expect(await trio.run('write', 'SET a 1')).toEqual(['+OK']);
  const leader = await trio.leader();
  const to = leader.id === 1 ? 2 : 1;
  await trio.caughtUp(`n${to}`, leader.appliedIndex);
  const host = trio.hosts.get(`n${to}`)!;
  const follower = host.local('default', 0)!;
  const { committed, term } = follower.inspect().raft;
  const entry = {
    term: term + 1,
    index: committed,
    kind: 'normal',
    data: Buffer.from('x'),
  } as const;
  const logTerm = follower.inspect().log.term(committed) as number;
  const message: PeerMessage = {
    ...{ type: 'append', from: leader.id, to, term: term + 1, index: committed, logTerm },
    ...{ commit: committed, entries: [entry] },
  };
  host.onMessages(`n${leader.id}`, [{ group: 1, message }]);
  expect(trio.faults).toHaveLength(1);
  expect(trio.faults[0]).toContain('contradicts a committed entry');
  expect(follower.stopped).toBe(true);
  expect(host.faults().get(1)).toContain('contradicts');
  expect(host.stopped()).toEqual([to]);
  expect(await trio.run('write', 'SET a 2')).toEqual(['+OK']);
});

test('a leader that fails where nobody can follow it is told to lead no more', async () => {
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  const leader = await trio.leader();
  const node = `n${leader.id}`;
  const { term } = leader;
  const told = () => trio.news.get(node)!.at(-1)!;
  await expect.poll(told).toMatchObject({ node, own: true, term });
  for (const other of ['n1', 'n2', 'n3']) if (other !== node) await trio.stop(other);
  leader.tick = () => {
    throw new Error('nobody foresaw it');
  };
  await expect.poll(() => leader.stopped).toBe(true);
  expect(told()).toMatchObject({ node: undefined, replica: 0, own: false, term });
});

test('a follower that fails has nothing to tell of the leader', async () => {
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
  const leader = await trio.leader();
  const node = leader.id === 1 ? 'n2' : 'n1';
  const follower = trio.hosts.get(node)!.local('default', 0)!;
  const told = () => trio.news.get(node)?.at(-1);
  await expect.poll(told).toMatchObject({ node: `n${leader.id}`, own: false });
  const before = trio.news.get(node)!.length;
  follower.fail(new Error('nobody foresaw it'));
  expect(trio.news.get(node)).toHaveLength(before);
});

test('what is durable is told to the others though one replica cannot bear it', () => {
  const durable: (() => void)[] = [];
  const log = { append: (_part: unknown, onDurable: () => void) => void durable.push(onDurable) };
  const own = { hardState: { term: 2, vote: 1, commit: 0 } };
  const seen: string[] = [];
  const replica = (id: number, step: () => void) => {
    let stopped = false;
    const effects = new Effects({
      self: id,
      raft: { step },
      writer: new LogWriter(log as unknown as RaftLog, own as unknown as ReplicaLog, id),
      world: { requestTurn: () => seen.push(`${id} asks for a turn`) },
      time: { observeEntries: () => {} },
      stopped: () => stopped,
      fail: (failure: unknown) => {
        stopped = true;
        seen.push(`${id} fails: ${failure}`);
      },
    } as unknown as EffectsGround);
    const done = { type: 'storageAppendResponse', to: id } as unknown as Message;
    effects.carryOut({
      ...{ type: 'storageAppend', from: id, to: id, term: 0, snapshot: undefined },
      ...{ entries: [{ term: 2, index: 1, kind: 'normal', data: Buffer.of(1) }] },
      ...{ hardState: undefined, responses: [done, done] },
    } as AppendWork);
  };
  replica(1, () => {
    throw new Error('nobody foresaw it');
  });
  replica(2, () => seen.push('2 hears'));
  for (const run of durable) run();
  expect(seen).toEqual([
    '1 fails: Error: nobody foresaw it',
    '1 asks for a turn',
    ...['2 hears', '2 hears', '2 asks for a turn'],
  ]);
});
