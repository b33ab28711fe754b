/** Clients that wait by reading streams, at a group of three replicas, while its leader goes. */
import { afterEach, expect, test } from 'vitest';
import type { WaitOutcome, WaitRequest } from '../../../../src/datanode/partition/entries/wait.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
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

/** IDs in the reply, in order, or what else came of it. */
function ids(outcome: WaitOutcome): string {
  if (outcome.kind === 'concrete') return outcome.line.join(' ');
  if (outcome.kind === 'failed') return outcome.code;
  if (outcome.kind !== 'served') return outcome.kind;
  const { reply } = outcome;
  const text = encodeReply(reply.kind === 'encoded' ? decodeReply(reply.bytes) : reply, 2);
  if (text[0] === 0x2d) return text.toString().trim();
  return (text.toString().match(/\d+-\d+/g) ?? []).join(' ');
}

async function isOpen(wait: Promise<WaitOutcome>): Promise<boolean> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  return Promise.race([wait.then(() => false), Promise.resolve(true)]);
}

const ask = async (leader: Replica, id: string, text: string) =>
  ids(await leader.wait(request(id, text)));

test('what is there is read at once; what comes is read by all who wait, and no entry carries them', async () => {
  await start();
  const leader = await trio.leader();
  await trio.run('write', 'XADD a 1-1 f v', 'XADD a 2-1 f v');
  expect(await ask(leader, '1', 'XREAD BLOCK 0 STREAMS a 0')).toBe('1-1 2-1');
  expect(await ask(leader, '1', 'XREAD BLOCK 0 STREAMS a b + +')).toBe('2-1');
  const waits = ['2', '3', '4'].map((id) =>
    leader.wait(request(id, 'XREAD COUNT 1 BLOCK 0 STREAMS b a 0 2-1')),
  );
  waits.push(leader.wait(request('5', 'XREAD BLOCK 0 STREAMS a 2-1')));
  const ofNone = leader.wait(request('6', 'XREAD BLOCK 0 STREAMS b +'));
  expect(await isOpen(waits[3]!)).toBe(true);
  const { raft } = leader.inspect();
  const before = raft.lastIndex;
  await trio.run('write', 'XADD a 3-1 f v');
  expect((await Promise.all(waits)).map(ids)).toEqual(['3-1', '3-1', '3-1', '3-1']);
  expect(raft.lastIndex).toBe(before + 1);
  await trio.run('write', 'XADD b 1-2 f v');
  expect(ids(await ofNone)).toBe('1-2');
});

test('the last ID is told once, and what came behind it is read at any leader', async () => {
  await start();
  const first = await trio.leader();
  await trio.run('write', 'XADD a 1-1 f v', 'SET s v');
  const asked = await ask(first, '1', 'XREAD BLOCK 0 STREAMS a b $ $');
  expect(asked).toBe('XREAD BLOCK 0 STREAMS a b 1-1 0-0');
  expect(await ask(first, '2', 'XREAD BLOCK 0 STREAMS a s $ $')).toMatch(/^-WRONGTYPE/);
  // what is wrong is told key by key
  expect(await ask(first, '3', 'XREAD BLOCK 0 STREAMS none s x $')).toMatch(/^-ERR Invalid/);
  expect(await ask(first, '4', 'XREAD BLOCK 0 STREAMS s none $ x')).toMatch(/^-WRONGTYPE/);
  const wait = first.wait(request('1', asked));
  expect(await isOpen(wait)).toBe(true);
  first.handOver();
  expect(ids(await wait)).toBe('NOT_LEADER');
  const second = await trio.leader();
  await trio.run('write', 'XADD b 1-2 f v');
  expect(await ask(second, '1', asked)).toBe('1-2');
});

test('another type in the place of a stream is no answer, nor is what was deleted again', async () => {
  await start();
  const leader = await trio.leader();
  await trio.run('write', 'XADD a 1-1 f v', 'XADD b 1-1 f v');
  const wait = leader.wait(request('1', 'XREAD BLOCK 0 STREAMS a b 1-1 1-1'));
  expect(await isOpen(wait)).toBe(true);
  await trio.run('write', 'SET a v', 'XADD b 2-1 f v', 'XDEL b 2-1');
  expect(await isOpen(wait)).toBe(true);
  await trio.run('write', 'XADD b 3-1 f v');
  expect(ids(await wait)).toBe('3-1');
});

test('withdrawn it reads nothing more', async () => {
  await start();
  const leader = await trio.leader();
  const wait = leader.wait(request('1', 'XREAD BLOCK 0 STREAMS a 0'));
  expect(await isOpen(wait)).toBe(true);
  expect(ids(await leader.wait(request('1', 'XREAD BLOCK 0 STREAMS a 0', true)))).toBe('withdrawn');
  expect(ids(await wait)).toBe('superseded');
});

test('a crowd of readers is answered', async () => {
  await start();
  const leader = await trio.leader();
  const COUNT = 3_000;
  const waits = Array.from({ length: COUNT }, (_, at) =>
    leader.wait(request(`${at}`, 'XREAD BLOCK 0 STREAMS a 0')),
  );
  expect(await isOpen(waits[0]!)).toBe(true);
  await trio.run('write', 'XADD a 1-1 f v');
  expect(new Set((await Promise.all(waits)).map(ids))).toEqual(new Set(['1-1']));
});
