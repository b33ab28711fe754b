/** What a member's node does not know yet is not proposed; here INCR is as new as this build. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import type { NodeId } from '../../../../src/common/ids.ts';
import type { Command } from '../../../../src/datanode/commands/rows/command.ts';
import type * as table from '../../../../src/datanode/commands/table/table.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import type {
  CommandBatch,
  CommandLine,
} from '../../../../src/datanode/partition/entries/batch.ts';
import {
  APPLY_VERSION,
  UNTOLD_APPLY_VERSION,
} from '../../../../src/datanode/partition/entries/envelope.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { batchOf, Trio } from '../trio.ts';

vi.mock('../../../../src/datanode/commands/table/table.ts', async (original) => {
  const real = await original<typeof table>();
  const { applyVersions } = await import(
    '../../../../src/datanode/commands/rows/apply-versions.ts'
  );
  const newest = Math.max(...Object.values(applyVersions));
  const rows = new Map(real.commandTable);
  rows.set('incr', { ...rows.get('incr')!, appliesFrom: () => newest } as Command);
  return { ...real, commandTable: rows };
});

const REFUSED =
  "-ERR 'incr' as it is asked for here is not known to n3, which has a replica of this partition and " +
  'runs an older kvorum: upgrade it first (kvorum upgrade begin, restart it with this version, kvorum ' +
  'upgrade done)';
const NOTHING = `${REFUSED}; nothing happened\r\n`;

let trio: Trio;

beforeEach(async () => {
  trio = new Trio();
  for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
});

afterEach(() => trio.destroy());

/** All nodes hear that of each other, as they registered. */
function tell(versions: Readonly<Record<NodeId, number | undefined>>): void {
  for (const host of trio.hosts.values()) host.setBuilds(new Map(Object.entries(versions)));
}

const current = { n1: APPLY_VERSION, n2: APPLY_VERSION, n3: APPLY_VERSION };
/** What a node tells of itself that runs the last build which told nothing. */
const n3IsOlder = { ...current, n3: undefined };
const wordsOf = (text: string): CommandLine => text.split(' ').map((word) => Buffer.from(word));

/** By whoever leads, tried again while nobody does. */
async function sent(...lines: CommandLine[]): Promise<string[]> {
  return sentAs({ lines });
}

async function sentAs(more: Partial<CommandBatch>): Promise<string[]> {
  for (let tried = 0; ; tried++) {
    const leader = await trio.leader();
    // the others lead as well: what is known of n3 is of the group, whoever leads
    if (leader.id === 3) leader.handOver();
    const batch = { ...batchOf('write', []), ...more };
    const deadlineMs = systemClock.monotonicMs() + 10_000;
    const results = await leader.execute({ ...batch, deadlineMs });
    const isDone = leader.id !== 3 && results.every(({ ok }) => ok);
    if (isDone || tried === 200) {
      return results.map((one) => (one.ok ? encodeReply(one.reply, 2).toString() : one.code));
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('a command is refused until all nodes of the group know it, others of its batch are not', async () => {
  tell(n3IsOlder);
  const lines = ['SET a 1', 'INCR a', 'APPEND a 2'].map(wordsOf);
  expect(await sent(...lines)).toEqual(['+OK\r\n', NOTHING, ':2\r\n']);
  tell({ ...current, n3: APPLY_VERSION - 1 });
  expect(await sent(wordsOf('INCR a'))).toEqual([NOTHING]);
  tell(current);
  expect(await sent(wordsOf('INCR a'))).toEqual([':13\r\n']);
});

test('also within a transaction, which is refused as a whole', async () => {
  tell(n3IsOlder);
  const exec = (...texts: string[]) => encodeExec(texts.map(wordsOf));
  expect(await sent(exec('SET a 7', 'INCR a'))).toEqual([NOTHING]);
  expect(await sent(exec('SET b 1', 'SET c incr'))).toEqual(['*2\r\n+OK\r\n+OK\r\n']);
  tell(current);
  expect(await sent(exec('INCR a', 'INCR b'))).toEqual(['*2\r\n:1\r\n:2\r\n']);
});

test('a node that is to have a replica counts, one of other groups does not', async () => {
  tell({ ...current, n4: undefined });
  expect(await sent(wordsOf('INCR a'))).toEqual([':1\r\n']);
  const { replicas } = trio.record;
  const n4 = { replica: 4, node: 'n4', incarnation: 'i' };
  trio.record = { ...trio.record, replicas: [...replicas.slice(0, 2), n4], epoch: 2 };
  await trio.arrange();
  expect((await sent(wordsOf('INCR a')))[0]).toContain('is not known to n4,');
});

test('what took effect under a session is told, also while it would be refused', async () => {
  tell(current);
  expect(await sent(wordsOf('KV.SESSION OPEN session-1 a'))).toEqual(['+OK\r\n']);
  expect(await sent(wordsOf('KV.ONCE session-1 1 1 INCR a'))).toEqual([':1\r\n']);
  tell(n3IsOlder);
  expect(await sent(wordsOf('KV.ONCE session-1 1 1 INCR a'))).toEqual([':1\r\n']);
  expect(await sent(wordsOf('KV.ONCE session-1 2 2 INCR a'))).toEqual([`${REFUSED}\r\n`]);
  // the refusal may be lost: it is the same again, and never an answer to something else
  expect(await sent(wordsOf('KV.ONCE session-1 2 2 INCR a'))).toEqual([`${REFUSED}\r\n`]);
  tell(current);
  expect(await sent(wordsOf('KV.ONCE session-1 3 3 INCR a'))).toEqual([':2\r\n']);
});

test('the same for a batch that another node forwards', async () => {
  tell(current);
  await sent(wordsOf('KV.SESSION OPEN session-1 a'));
  const once = { id: Buffer.from('session-1'), sequence: 1, low: 1 };
  const lines = ['SET a 5', 'INCR a'].map(wordsOf);
  expect(await sentAs({ lines, once })).toEqual(['+OK\r\n', ':6\r\n']);
  tell(n3IsOlder);
  expect(await sentAs({ lines, once })).toEqual(['+OK\r\n', ':6\r\n']);
  const next = { ...once, sequence: 2 };
  expect(await sentAs({ lines, once: next })).toEqual(['+OK\r\n', NOTHING]);
  expect(await sentAs({ lines, once: next })).toEqual(['+OK\r\n', NOTHING]);
});

test('what builds knew that say nothing of themselves is never held back', async () => {
  tell({ ...current, n3: undefined });
  expect(UNTOLD_APPLY_VERSION).toBe(4);
  const exec = encodeExec(['SET a 1', 'DUMP a'].map(wordsOf));
  expect((await sent(exec))[0]).toMatch(/^\*2\r\n\+OK\r\n\$/);
});

test('a client that would wait in a way that a member does not know is refused, also later', async () => {
  const wait = async (id: string, text: string) => {
    const leader = await trio.leader();
    const request = {
      id: Buffer.from(id),
      line: wordsOf(text),
      protocol: 2,
      withdraw: false,
    } as const;
    const outcome = await leader.wait(request);
    if (outcome.kind !== 'served') return outcome.kind;
    const { reply } = outcome;
    return (reply.kind === 'encoded' ? reply.bytes : encodeReply(reply, 2)).toString();
  };
  const inGroup = 'XREADGROUP GROUP g c BLOCK 0 STREAMS s >';
  tell(current);
  await sent(wordsOf('XGROUP CREATE s g $ MKSTREAM'));
  const leader = await trio.leader();
  const open = wait('1', inGroup);
  await sent(wordsOf('SET a 1'));
  tell(leader.id === 3 ? { ...current, n2: 6 } : { ...current, n3: 6 });
  expect(await wait('2', inGroup)).toMatch(
    /^-ERR 'xreadgroup' as it is asked for here is not known/,
  );
  await trio.run('write', 'SET a 2');
  expect(await open).toMatch(/^-ERR 'xreadgroup' as it is asked for here is not known/);
  await sent(wordsOf('RPUSH l x'));
  expect(await wait('3', 'BLPOP l 0')).toBe('*2\r\n$1\r\nl\r\n$1\r\nx\r\n');
});
