/** Clients that wait at a group of three replicas, while its leader goes. */
import { afterEach, expect, test } from 'vitest';
import { findServed } from '../../../../src/datanode/encoding/sessions/served.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { WaitOutcome, WaitRequest } from '../../../../src/datanode/partition/entries/wait.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { eventually } from '../../../cluster/cluster.ts';
import { Trio } from '../trio.ts';

let trio: Trio;

afterEach(() => trio.destroy(), 30_000);

async function start(): Promise<void> {
  // a machine that is busy for a moment is not to bring an election about in the midst of a test
  trio = new Trio({ electionTicks: 30 });
  await Promise.all(['n1', 'n2', 'n3'].map((node) => trio.start(node)));
}

const request = (id: string, text: string, withdraw = false): WaitRequest => ({
  id: Buffer.from(id),
  line: text.split(' ').map((word) => Buffer.from(word)),
  protocol: 2,
  withdraw,
});

const nodeOf = ({ id }: Replica) => `n${id}`;

function elements(outcome: WaitOutcome): string[] | string {
  if (outcome.kind !== 'served') return outcome.kind;
  const reply = outcome.reply.kind === 'encoded' ? decodeReply(outcome.reply.bytes) : outcome.reply;
  if (reply.kind !== 'array') return reply.kind;
  return reply.items.map((item) => (item.kind === 'bulk' ? item.bytes.toString() : item.kind));
}

function kept(node: string, id: string): boolean {
  const replica = trio.hosts.get(node)!.local('default', 0)!;
  return findServed(createView(replica.slot.engine), Buffer.from(id)) !== undefined;
}

test('an element that is there is given at once, one that comes in its order', async () => {
  await start();
  const leader = await trio.leader();
  expect(await trio.run('write', 'RPUSH a x')).toEqual([':1']);
  expect(elements(await leader.wait(request('1', 'BLPOP a 0')))).toEqual(['a', 'x']);
  const waits = ['2', '3', '4'].map((id) => leader.wait(request(id, 'BLPOP a b 0')));
  expect(await trio.run('write', 'RPUSH b y', 'RPUSH a z w')).toEqual([':1', ':2']);
  expect((await Promise.all(waits)).map(elements)).toEqual([
    ['b', 'y'],
    ['a', 'z'],
    ['a', 'w'],
  ]);
  expect(await trio.run('read', 'EXISTS a', 'EXISTS b')).toEqual([':0', ':0']);
});

test('what it gave is told by the next leader under the id, until it is confirmed', async () => {
  await start();
  const first = await trio.leader();
  const served = first.wait(request('1', 'BLPOP a 0'));
  await trio.run('write', 'RPUSH a x y');
  expect(elements(await served)).toEqual(['a', 'x']);
  await trio.stop(nodeOf(first));
  trio.tellOfPeer(nodeOf(first), false);
  const second = await trio.leader();
  expect(elements(await second.wait(request('1', 'BLPOP a 0')))).toEqual(['a', 'x']);
  expect(elements(await second.wait(request('2', 'BLPOP a 0')))).toEqual(['a', 'y']);
  second.confirmServed([Buffer.from('1'), Buffer.from('2')]);
  await eventually(10_000, 'nothing is kept any more', () =>
    [...trio.hosts.keys()].every((node) => !kept(node, '1') && !kept(node, '2')),
  );
});

test('a leader that steps down sends them away, and the next one serves them once', async () => {
  await start();
  const first = await trio.leader();
  const waits = ['1', '2'].map((id) => first.wait(request(id, 'BLPOP a 0')));
  first.handOver();
  expect(await Promise.all(waits)).toMatchObject([{ code: 'NOT_LEADER' }, { code: 'NOT_LEADER' }]);
  const second = await trio.leader();
  const again = ['1', '2'].map((id) => second.wait(request(id, 'BLPOP a 0')));
  expect(await trio.run('write', 'RPUSH a x y')).toEqual([':2']);
  expect((await Promise.all(again)).map(elements)).toEqual([
    ['a', 'x'],
    ['a', 'y'],
  ]);
});

test('withdrawn, it takes nothing; carried, it gets what the entry gives it', async () => {
  await start();
  const leader = await trio.leader();
  const gone = new AbortController();
  const first = leader.wait(request('1', 'BLPOP a 0'), gone.signal);
  const second = leader.wait(request('2', 'BLPOP a 0'));
  gone.abort();
  expect(elements(await first)).toBe('withdrawn');
  const { raft } = leader.inspect();
  // confirmed, and looked at: what follows is not asked any more
  await trio.run('read', 'EXISTS a');
  const before = raft.lastIndex;
  const push = trio.run('write', 'RPUSH a x');
  while (raft.lastIndex === before) await new Promise((resolve) => setImmediate(resolve));
  const withdrawn = leader.wait(request('2', 'BLPOP a 0', true));
  expect(await push).toEqual([':1']);
  // who was answered before it withdrew is told the same again
  expect(['superseded', ['a', 'x']]).toContainEqual(elements(await second));
  expect(elements(await withdrawn)).toEqual(['a', 'x']);
});
