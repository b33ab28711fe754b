/** WATCH in a group of three replicas, where no command that comes names what changes. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Clock, systemClock } from '../../../../src/common/clock.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type { CommandLine } from '../../../../src/datanode/partition/entries/batch.ts';
import type { WaitOutcome } from '../../../../src/datanode/partition/entries/wait.ts';
import type { Replica } from '../../../../src/datanode/partition/replica/replica.ts';
import { batchOf, Trio, textOf } from '../trio.ts';

let trio: Trio;
let leader: Replica;

/** So far ahead of the system's are the clocks of all nodes. */
let aheadMs = 0;
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
const MINUTE_MS = 60_000;

beforeEach(async () => {
  aheadMs = 0;
  trio = new Trio({ clockSkewMaxMs: 10 * MINUTE_MS, electionTicks: 30 });
  for (const node of ['n1', 'n2', 'n3']) trio.clocks.set(node, clock);
  await Promise.all(['n1', 'n2', 'n3'].map((node) => trio.start(node)));
  leader = await trio.leader();
});

afterEach(() => trio.destroy(), 30_000);

const line = (text: string): CommandLine => text.split(' ').map((word) => Buffer.from(word));

async function write(...lines: CommandLine[]): Promise<string> {
  const results = await leader.execute({ ...batchOf('write', []), lines });
  return textOf(results[0]!);
}

const exec = (...lines: string[]) => write(encodeExec(lines.map(line), { token: 't', calls: 1 }));

function wait(id: string, text: string): Promise<WaitOutcome> {
  return leader.wait({ id: Buffer.from(id), line: line(text), protocol: 2, withdraw: false });
}

const NIL = '{"kind":"nullArray"}';

/** The client waits, and what was there when it came has been looked at. */
async function waits(id: string, text: string): Promise<{ outcome: Promise<WaitOutcome> }> {
  const outcome = wait(id, text);
  await trio.run('read', 'EXISTS l');
  return { outcome };
}

test('an entry that serves a client what is there stops an EXEC behind it', async () => {
  await trio.run('write', 'RPUSH l a');
  await write(line('WATCH t l'));
  const { raft } = leader.inspect();
  const before = raft.lastIndex;
  const served = wait('1', 'BLPOP l 0');
  // each message between the replicas takes a turn as well: it is not applied yet
  while (raft.lastIndex === before) await new Promise((resolve) => setImmediate(resolve));
  expect(await exec('LRANGE l 0 -1')).toBe(NIL);
  expect((await served).kind).toBe('served');
});

test('a push that a waiting BLMOVE moves on to the watched key stops it', async () => {
  const { outcome } = await waits('1', 'BLMOVE l w LEFT RIGHT 0');
  await write(line('WATCH t w'));
  const push = write(line('RPUSH l x'));
  expect(await exec('LRANGE w 0 -1')).toBe(NIL);
  expect([await push, (await outcome).kind]).toEqual([':1', 'served']);
});

test('a push of another batch of the same entry, behind it, does not', async () => {
  const { outcome } = await waits('1', 'BLMOVE l w LEFT RIGHT 0');
  await write(line('WATCH t w'));
  const transaction = exec('EXISTS w');
  expect(await write(line('RPUSH l x'))).toBe(':1');
  expect(await transaction).toContain('"value":0');
  expect((await outcome).kind).toBe('served');
});

test('a transaction may give a client what it waits for at the watched key', async () => {
  const { outcome } = await waits('1', 'BLPOP l 0');
  await write(line('WATCH t l'));
  expect(await exec('RPUSH l x')).toContain('"value":1');
  expect((await outcome).kind).toBe('served');
});

test.each([
  ['a key', 'SET k v', `PEXPIREAT k`, ''],
  ['a field', 'HSET k f v g v', `HPEXPIREAT k`, ' FIELDS 1 f'],
])('%s that expires while EXEC waits for its entry stops it', async (_, set, expire, what) => {
  await trio.run('write', set, `${expire} ${clock.wallMs() + MINUTE_MS}${what}`);
  await write(line('WATCH t k'));
  const transaction = exec('EXISTS k');
  aheadMs = 2 * MINUTE_MS;
  expect(await transaction).toBe(NIL);
});
