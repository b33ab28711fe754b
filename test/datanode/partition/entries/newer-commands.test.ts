/** What a newer build put into the log and this one has no row of: a replica that meets it stops. */
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { codeOf, messageOf } from '../../../../src/common/errors.ts';
import type * as table from '../../../../src/datanode/commands/table/table.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { encodeRdbTime } from '../../../../src/datanode/encoding/rdb/rdb-elements.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import type { CommandLine } from '../../../../src/datanode/partition/entries/batch.ts';
import {
  type EnvelopeBody,
  encodeEnvelope,
} from '../../../../src/datanode/partition/entries/envelope.ts';
import type { CarriedWaiter } from '../../../../src/datanode/partition/entries/waiter-codec.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { EMPTY_CONF } from '../../../../src/datanode/raft/conf-change.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';
import { OK, type Reply } from '../../../../src/datanode/resp/reply.ts';
import { sealRdbPayload } from '../../encoding/rdb/at-once.ts';
import { stream } from '../../encoding/rdb/rdb-forms.ts';
import { Trio } from '../trio.ts';

/** A command that the build of the moment lacks. */
const lacking = vi.hoisted(() => ({ name: '' }));

vi.mock('../../../../src/datanode/commands/table/table.ts', async (original) => {
  const real = await original<typeof table>();
  const resolveCommand: typeof real.resolveCommand = (args) =>
    String(args[0]) === lacking.name ? undefined : real.resolveCommand(args);
  return { ...real, resolveCommand };
});

afterEach(() => {
  lacking.name = '';
});

const wordsOf = (text: string): CommandLine => text.split(' ').map((word) => Buffer.from(word));
const BEGIN: ReplicaState = {
  ...{ index: 9, term: 2, timeMs: 5_000, epoch: 4, confState: EMPTY_CONF },
};

/** What two entries come to, the second of which has `body`. */
async function applied(body: EnvelopeBody, as = (entry: Buffer) => entry) {
  const { engine } = await createMemoryHost().open('1-0');
  const faults: unknown[] = [];
  const indexes: number[] = [];
  const replies: Reply[] = [];
  const applier = new Applier(
    systemClock,
    engine,
    BEGIN,
    { firstSlot: 0, lastSlot: 16_383 },
    {
      mayGather: () => false,
      applyConfChange: () => EMPTY_CONF,
      onClear: () => {},
      onApplied: (entries) => {
        indexes.push(...entries.map(({ index }) => index));
        for (const entry of entries) replies.push(...entry.replies);
      },
      keyEvents: new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 })),
      onFault: (failure) => faults.push(failure),
    },
  );
  const first: EnvelopeBody = { family: 'redis', lines: [wordsOf('SET a 1')] };
  for (const [at, each] of [first, body].entries()) {
    const data = as(encodeEnvelope({ timeMs: 6_000, seed: 1, body: each }));
    applier.enqueue([{ kind: 'normal', index: 10 + at, term: 2, data }], () => {});
    await applier.whenIdle();
  }
  return { faults, indexes, replies, state: applier.state };
}

const redis = (...lines: CommandLine[]): EnvelopeBody => ({ family: 'redis', lines });
const exec = encodeExec(['SET a 3', 'LATER.SET a 4'].map(wordsOf));
const once = wordsOf('KV.ONCE session-1 1 1');
const waiter: CarriedWaiter = {
  ...{ id: Buffer.from('client-1'), line: wordsOf('LATER.BLPOP a 0'), protocol: 2, asked: false },
};

const entries: [name: string, body: EnvelopeBody][] = [
  ['LATER.SET', redis(wordsOf('SET a 2'), wordsOf('LATER.SET a 4'))],
  ['LATER.SET', redis(exec)],
  ['LATER.SET', redis([...once, ...wordsOf('LATER.SET a 4')])],
  ['KV.SESSION EXTEND', redis(wordsOf('KV.SESSION EXTEND session-1 a'))],
  ['LATER.SET', redis(wordsOf('SET a 2'), wordsOf('FLUSHALL'), wordsOf('LATER.SET a 4'))],
  [
    'LATER.BLPOP',
    {
      family: 'redis',
      lines: [wordsOf('RPUSH a 1')],
      waiting: { ready: [], waiters: [waiter], confirmed: [] },
    },
  ],
];

test.each(entries)(
  'an entry with %s is not applied: the replica stops and names the remedy',
  async (name, body) => {
    const { faults, indexes, state } = await applied(body);
    expect(faults.map(codeOf)).toEqual(['TOO_NEW']);
    expect(messageOf(faults[0])).toBe(
      `the log holds '${name}', a command that this build does not know; upgrade kvorum on this node`,
    );
    expect([indexes, state.index]).toEqual([[10], 10]);
  },
);

test('a command that is known and no write, or malformed, is refused by every build', async () => {
  const nested = [...once, ...once, ...wordsOf('LATER.SET a 4')];
  const lines = ['GET a', 'SET a 1 NX XX', 'EXEC', 'OBJECT', 'OBJECT ENCODING a'].map(wordsOf);
  const { faults, state } = await applied(redis(...lines, nested));
  expect([faults, state.index]).toEqual([[], 11]);
});

test('RESTORE and DUMP do in an entry of an older build what they did there', async () => {
  const [field, soon] = ['f', 'v'].map((text) => Buffer.from([1, ...Buffer.from(text)]));
  const parts = [Buffer.of(24), encodeRdbTime(10_000), Buffer.from([1, 1]), field!, soon!];
  const newer = sealRdbPayload(parts, 12);
  const restore = (payload: Buffer) => [...wordsOf('RESTORE k 0'), payload];
  const commands = ['HSET h f v', 'HEXPIRE h 9 FIELDS 1 f', 'DUMP h'];
  const body = redis(restore(newer), encodeExec(commands.map(wordsOf)));
  const now = await applied(body);
  const before = await applied(body, (entry) => {
    if (entry.readUInt16BE(2) !== 4) return entry;
    // as the other would have written it: its version, and nothing that came later
    const bare = entry.subarray(0, entry.length - 16);
    bare.writeUInt16BE(1, 2);
    return bare;
  });
  expect(now.faults.concat(before.faults)).toEqual([]);
  expect(now.replies[1]).toEqual(OK);
  expect(before.replies[1]).toMatchObject({
    text: 'ERR DUMP payload version or checksum are wrong',
  });
  const [dumped, early] = [now, before].map(({ replies }) => {
    const reply = replies.at(-1);
    const last = reply?.kind === 'array' ? reply.items.at(-1) : undefined;
    return last?.kind === 'bulk' ? last.bytes[0] : last;
  });
  expect([dumped, early]).toEqual([24, 4]);
});

test('RESTORE of a stream is refused in an entry of an older build, as that refuses it', async () => {
  const restore = [...wordsOf('RESTORE k 0'), sealRdbPayload([stream(19)])];
  const body = redis(restore, wordsOf('SET b 2'));
  const now = await applied(body);
  const before = await applied(body, (entry) => {
    if (entry.readUInt16BE(2) !== 7) return entry;
    entry.writeUInt16BE(5, 2);
    return entry;
  });
  expect(now.faults.concat(before.faults)).toEqual([]);
  expect(now.replies.slice(1)).toEqual([OK, OK]);
  expect(before.replies.slice(1)).toMatchObject([{ text: 'ERR Bad data format' }, OK]);
});

test('an option of SET is refused in an entry of an older build, as that refuses it', async () => {
  const lines = [
    ...['SET k v', 'KV.SESSION OPEN session-1 k', 'SET k w IFEQ v'].map(wordsOf),
    [...once, ...wordsOf('SET k x IFEQ w')],
    encodeExec(['SET c 1 IFNE 1', 'SET b 2', 'SET k y IFEQ x'].map(wordsOf)),
    // what the session has not kept, since nothing was carried out
    [...once, ...wordsOf('GET k')],
  ];
  const asOf = (version: number) => (entry: Buffer) => {
    if (entry.readUInt16BE(2) !== 5) return entry;
    const bare = entry.subarray(0, version < 2 ? entry.length - 16 : entry.length);
    bare.writeUInt16BE(version, 2);
    return bare;
  };
  const text = (replies: readonly Reply[]) =>
    replies.slice(3).map((reply) => encodeReply(reply, 2).toString());
  const now = await applied(redis(...lines));
  expect(text(now.replies)).toEqual([
    '+OK\r\n',
    '+OK\r\n',
    '*3\r\n+OK\r\n+OK\r\n+OK\r\n',
    '+OK\r\n',
  ]);
  for (const version of [1, 4]) {
    const { faults, replies } = await applied(redis(...lines), asOf(version));
    const refused = '-ERR syntax error\r\n';
    const within = `*3\r\n${refused}+OK\r\n${refused}`;
    expect(faults).toEqual([]);
    expect(text(replies)).toEqual([refused, refused, within, '$1\r\nv\r\n']);
  }
});

test('one of three replicas of an older build stops undamaged, and goes on once upgraded', async () => {
  // the log is kept: behind a snapshot nobody meets the entry
  const trio = new Trio({ logKeepBytes: 1_000_000 });
  try {
    for (const node of ['n1', 'n2', 'n3']) await trio.start(node);
    await trio.run('write', 'SET a 1');
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
    await trio.stop('n3');
    await trio.run('write', 'INCR n');
    const { appliedIndex } = await trio.leader();
    for (const node of ['n1', 'n2']) await trio.caughtUp(node, appliedIndex);
    lacking.name = 'INCR';
    await trio.start('n3');
    await expect
      .poll(() => [...trio.hosts.get('n3')!.faults().values()].join())
      .toContain("the log holds 'INCR', a command that this build does not know; upgrade kvorum");
    expect(trio.hosts.get('n3')!.replicas()).toEqual([]);
    expect(await trio.run('write', 'SET b 2')).toEqual(['+OK']);
    await trio.stop('n3');
    await trio.start('n3');
    await expect.poll(() => trio.hosts.get('n3')!.faults().size).toBe(1);
    await trio.stop('n3');
    lacking.name = '';
    await trio.start('n3');
    await trio.caughtUp('n3', (await trio.leader()).appliedIndex);
    expect(trio.hosts.get('n3')!.local('default', 0)!.id).toBe(3);
    expect(trio.hosts.get('n3')!.faults().size).toBe(0);
  } finally {
    await trio.destroy();
  }
});
