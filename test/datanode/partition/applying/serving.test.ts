import { beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { applyVersions } from '../../../../src/datanode/commands/rows/apply-versions.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { findKey } from '../../../../src/datanode/encoding/keyspace/keyspace.ts';
import { findServed } from '../../../../src/datanode/encoding/sessions/served.ts';
import { createView, Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  applyAfterFlush,
  applyBeforeFlush,
} from '../../../../src/datanode/partition/applying/apply-flush.ts';
import type { ApplyStep } from '../../../../src/datanode/partition/applying/apply-lines.ts';
import { applyCommands } from '../../../../src/datanode/partition/applying/apply-serving.ts';
import { OnceBatches } from '../../../../src/datanode/partition/applying/once-batches.ts';
import type {
  CarriedWaiter,
  WaitingPart,
} from '../../../../src/datanode/partition/entries/waiter-codec.ts';
import { decodeReply } from '../../../../src/datanode/resp/decode-reply.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';

const NOW_MS = 1_700_000_000_000;
const context = {
  pace: { isDue: () => true, pause: () => Promise.resolve() },
  nowMs: NOW_MS,
  random: () => 0.5,
  firstSlot: 0,
  lastSlot: 16_383,
};
const state = {
  index: 1,
  term: 1,
  timeMs: NOW_MS,
  epoch: 1,
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};

let engine: Engine;
let index = 0;

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  index = 0;
});

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));

function waiter(id: string, text: string, more: Partial<CarriedWaiter> = {}): CarriedWaiter {
  return { id: Buffer.from(id), line: line(text), protocol: 2, asked: false, ...more };
}

const part = (...waiters: CarriedWaiter[]): WaitingPart => ({ ready: [], waiters, confirmed: [] });

async function entry(
  texts: readonly (string | readonly Buffer[])[],
  waiting: WaitingPart | undefined,
  applyVersion?: number,
): Promise<ApplyStep> {
  const txn = new Txn(engine);
  txn.beginEntry(++index);
  const lines = texts.map((text) => (typeof text === 'string' ? line(text) : text));
  const step = await applyCommands(
    txn,
    { lines, waiting, once: undefined },
    { ...context, ...(applyVersion !== undefined && { applyVersion }) },
    state,
  );
  await engine.write(txn.operations());
  return step;
}

/** Who was given what, in order. */
function given({ served = [] }: ApplyStep): string[] {
  return served.map(({ id, reply }) => {
    if (reply.kind !== 'encoded') throw new Error('kept as bytes');
    return `${id}: ${shown(reply.bytes)}`;
  });
}

const shown = (bytes: Buffer) =>
  encodeReply(decodeReply(bytes), 2)
    .toString()
    .replaceAll(/[*$]\d+\r\n/g, '')
    .trim()
    .replaceAll('\r\n', ' ');

const typeOf = (key: string) => findKey(createView(engine), Buffer.from(key), NOW_MS).live?.type;

test('the element that is pushed goes to the longest waiting, and the key is gone', async () => {
  const step = await entry(['RPUSH a x'], part(waiter('1', 'BLPOP a 0'), waiter('2', 'BLPOP a 0')));
  expect(given(step)).toEqual(['1: a x']);
  expect(step.replies).toEqual([{ kind: 'integer', value: 1 }]);
  expect(typeOf('a')).toBeUndefined();
});

test('before the next command of the entry', async () => {
  const step = await entry(['RPUSH a x', 'LPOP a'], part(waiter('1', 'BLPOP a 0')));
  expect(step.replies[1]).toEqual({ kind: 'null' });
  expect(given(step)).toEqual(['1: a x']);
});

test('but after a whole transaction, by the keys in the order in which they were filled', async () => {
  const exec = encodeExec(['RPUSH b x', 'RPUSH a y z', 'LPOP a'].map(line));
  const both = part(waiter('1', 'BLPOP a b 0'), waiter('2', 'BLPOP a 0'));
  const step = await entry([exec], both);
  expect(given(step)).toEqual(['1: b x', '2: a z']);
});

test('a chain of moves ends with whom it fills', async () => {
  const step = await entry(
    ['RPUSH a x'],
    part(
      waiter('1', 'BLPOP c 0'),
      waiter('2', 'BLMOVE b c LEFT RIGHT 0'),
      waiter('3', 'BRPOPLPUSH a b 0'),
    ),
  );
  expect(given(step)).toEqual(['3: x', '2: x', '1: c x']);
  expect([typeOf('a'), typeOf('b'), typeOf('c')]).toEqual([undefined, undefined, undefined]);
});

test('a key of another type leaves them waiting', async () => {
  const zset = waiter('1', 'BZPOPMIN a 0', { protocol: 3 });
  expect(given(await entry(['RPUSH a x'], part(zset)))).toEqual([]);
  expect(typeOf('a')).toBe('list');
  const step = await entry(['DEL a', 'ZADD a 1.5 m'], part(waiter('2', 'BLPOP a 0'), zset));
  expect(step.served?.map(({ reply }) => reply)).toEqual([
    { kind: 'encoded', bytes: Buffer.from('*3\r\n$1\r\na\r\n$1\r\nm\r\n,1.5\r\n') },
  ]);
});

test('a move whose target is no list says so, and the next one is served', async () => {
  const step = await entry(
    ['SET s v', 'RPUSH a x'],
    part(waiter('1', 'BLMOVE a s LEFT LEFT 0'), waiter('2', 'BLMPOP 0 2 b a LEFT COUNT 9')),
  );
  expect(given(step)[0]).toMatch(/^1: -WRONGTYPE/);
  expect(given(step)[1]).toBe('2: a x');
});

test('an id is served once, whatever entries carry it, until it is confirmed', async () => {
  const waiting = part(waiter('1', 'BLPOP a 0'));
  expect(given(await entry(['RPUSH a x'], waiting))).toEqual(['1: a x']);
  expect(given(await entry(['RPUSH a y'], waiting))).toEqual([]);
  expect(typeOf('a')).toBe('list');
  expect(shown(findServed(createView(engine), Buffer.from('1'))!)).toBe('a x');
  await entry([], { ready: [], waiters: [], confirmed: [Buffer.from('1'), Buffer.from('none')] });
  expect(findServed(createView(engine), Buffer.from('1'))).toBeUndefined();
});

test('a reply too large to be kept is given once, and whoever asks again is told', async () => {
  const waiting = part(waiter('1', 'BLPOP a 0'));
  const value = 'x'.repeat(limits.servedReplyBytesMax);
  expect(given(await entry([`RPUSH a ${value}`], waiting))).toEqual([`1: a ${value}`]);
  expect(given(await entry(['RPUSH a y'], waiting))).toEqual([]);
  expect(typeOf('a')).toBe('list');
  const kept = findServed(createView(engine), Buffer.from('1'))!;
  expect(kept.toString()).toMatch(/^-DONE .* lost to this client\r\n$/);
  expect(kept.length).toBeLessThan(256);
});

test('a reply beyond the bound of replies is an error, and takes nothing', async () => {
  const element = 'x'.repeat(1024 * 1024);
  const line = encodeExec(
    Array.from({ length: Math.ceil(limits.replyBytesMax / element.length) + 1 }, () =>
      ['RPUSH', 'a', element].map((word) => Buffer.from(word)),
    ),
  );
  const step = await entry([line], part(waiter('1', 'BLMPOP 0 1 a LEFT COUNT 100000')));
  expect(given(step)[0]).toMatch(/^1: -ERR the reply would be larger than reply-bytes-max/);
  expect(typeOf('a')).toBe('list');
});

test('who has just asked runs as if sent after the entry', async () => {
  await entry(['SET s v', 'RPUSH b x'], undefined);
  const asked = { asked: true };
  const step = await entry(
    [],
    part(
      waiter('1', 'BLPOP none s b 0', asked),
      waiter('2', 'BLPOP none b 0', asked),
      waiter('3', 'BLPOP b 0', asked),
    ),
  );
  expect(given(step)[0]).toMatch(/^1: -WRONGTYPE/);
  expect(given(step).slice(1)).toEqual(['2: b x']);
});

test('a key that was ready before serves those who wait for it', async () => {
  await entry(['RPUSH a x y'], undefined);
  const waiters = [waiter('1', 'BLPOP b a 0'), waiter('2', 'BRPOP a 0'), waiter('3', 'BLPOP a 0')];
  const step = await entry([], { ready: [Buffer.from('a')], waiters, confirmed: [] });
  expect(given(step)).toEqual(['1: a x', '2: a y']);
});

test('what was given before a FLUSHALL of the entry stays given', async () => {
  const waiting = part(waiter('1', 'BLPOP a 0'), waiter('2', 'BLPOP a 0'));
  const lines = ['RPUSH a x', 'FLUSHALL', 'RPUSH a y z'].map(line);
  const body = { family: 'redis', lines, waiting } as const;
  const flush = {
    index: 1,
    body,
    flushAt: 1,
    once: new OnceBatches([], state.timeMs),
    tells: false,
  };
  const early = await applyBeforeFlush(engine, flush, context, state);
  const after = new Txn(engine);
  after.beginEntry(1);
  const late = await applyAfterFlush(after, flush, context, state);
  expect(given(early)).toEqual(['1: a x']);
  expect(given(late)).toEqual(['2: a y']);
  await engine.write(after.operations());
  expect(shown(findServed(createView(engine), Buffer.from('1'))!)).toBe('a x');
});

/** How often an entry lets others have their turn, and what it gave, where the clock says so always. */
async function pausesOf(texts: readonly string[], waiting: WaitingPart) {
  let pauses = 0;
  const pace = {
    isDue: () => true,
    pause: () => {
      pauses++;
      return Promise.resolve();
    },
  };
  const txn = new Txn(engine);
  txn.beginEntry(++index);
  const entryPart = { lines: texts.map(line), waiting, once: undefined };
  const step = await applyCommands(txn, entryPart, { ...context, pace }, state);
  await engine.write(txn.operations());
  return { pauses, given: given(step) };
}

const MANY = 50;
const many = <T>(each: (at: number) => T) => Array.from({ length: MANY }, (_, at) => each(at));

test('an entry that only confirms gives way between its commands', async () => {
  const waiting = { ready: [], waiters: [], confirmed: [Buffer.from('1')] };
  const { pauses } = await pausesOf(
    many((at) => `SET k${at} v`),
    waiting,
  );
  expect(pauses).toBeGreaterThanOrEqual(MANY - 1);
});

test('it gives way between clients looked up, between those served, and between ids', async () => {
  const waiters = many((at) => waiter(`${at}`, 'BLPOP a 0'));
  const push = `RPUSH a ${many(String).join(' ')}`;
  const served = await pausesOf([push], part(...waiters));
  expect(served.given).toEqual(many((at) => `${at}: a ${at}`));
  expect(served.pauses).toBeGreaterThanOrEqual(2 * MANY - 1);
  const asked = many((at) => waiter(`asked ${at}`, 'BLPOP a 0', { asked: true }));
  expect((await pausesOf([push], part(...asked))).pauses).toBeGreaterThanOrEqual(2 * MANY - 1);
  const confirmed = waiters.map(({ id }) => id);
  const ids = await pausesOf([], { ready: [], waiters: [], confirmed });
  expect(ids.pauses).toBeGreaterThanOrEqual(MANY - 1);
});

test.each([
  ['short', 'v', Math.floor(MANY / 16)],
  ['long', 'v'.repeat(70_000), MANY - 1],
])(
  '%s commands without anybody who waits look at the clock now and then',
  async (_, value, looks) => {
    const glances: boolean[] = [];
    const pace = {
      isDue: (isGlance = false) => {
        glances.push(isGlance);
        return false;
      },
      pause: () => Promise.resolve(),
    };
    const lines = many((at) => line(`SET k${at} ${value}`));
    const part = { lines, waiting: undefined, once: undefined };
    await applyCommands(new Txn(engine), part, { ...context, pace }, state);
    expect(glances.length).toBe(looks);
    expect(glances.filter((isGlance) => !isGlance).length).toBe(Math.floor(MANY / 16));
  },
);

test('each group is given what is added, of a group one consumer', async () => {
  await entry(['XGROUP CREATE a g $ MKSTREAM', 'XGROUP CREATE a h $'], undefined);
  const waiting = part(
    waiter('1', 'XREADGROUP GROUP g one BLOCK 0 STREAMS a >'),
    waiter('2', 'XREADGROUP GROUP g two COUNT 1 BLOCK 0 STREAMS a >'),
    waiter('3', 'XREADGROUP GROUP h one BLOCK 0 STREAMS a >', { protocol: 3 }),
    waiter('4', 'XREADGROUP GROUP g three BLOCK 0 STREAMS b a > >'),
  );
  const step = await entry(['XADD a 1-1 f v', 'XADD a 2-1 f v'], waiting);
  expect(given(step)).toEqual(['1: a 1-1 f v', '3: a 1-1 f v', '2: a 2-1 f v']);
  const none = await entry(
    ['XADD a 3-1 f v'],
    part(waiter('1', 'XREADGROUP GROUP g one BLOCK 0 STREAMS a >')),
  );
  expect(given(none)).toEqual([]);
});

test('when one of a group finds nothing no other of it is asked', async () => {
  await entry(['XGROUP CREATE a g $ MKSTREAM'], undefined);
  const consumers = ['1', '2', '3'].map((id) =>
    waiter(id, `XREADGROUP GROUP g c${id} BLOCK 0 STREAMS a >`),
  );
  expect(given(await entry(['XADD a 1-1 f v'], part(...consumers)))).toEqual(['1: a 1-1 f v']);
  const made = ['XGROUP CREATECONSUMER a g c2', 'XGROUP CREATECONSUMER a g c3'];
  expect((await entry(made, undefined)).replies).toMatchObject([{ value: 0 }, { value: 1 }]);
});

test('of a transaction all that it adds', async () => {
  await entry(['XGROUP CREATE a g $ MKSTREAM', 'XGROUP CREATE b g $ MKSTREAM'], undefined);
  const exec = encodeExec([line('XADD b 1-1 f v'), line('XADD a 2-1 f v'), line('XADD b 3-1 f v')]);
  const step = await entry(
    [exec],
    part(waiter('1', 'XREADGROUP GROUP g c BLOCK 0 STREAMS a b > >')),
  );
  expect(given(step)).toEqual(['1: b 1-1 f v 3-1 f v']);
});

const GONE = "-NOGROUP No such key 'a' or consumer group 'g' in XREADGROUP with GROUP option";
const OTHER = '-WRONGTYPE Operation against a key holding the wrong kind of value';
const UNBLOCKED = '-UNBLOCKED the stream key no longer exists';
const waits = (key = 'a') => waiter('1', `XREADGROUP GROUP g c BLOCK 0 STREAMS ${key} >`);

test.each([
  ['DEL a', GONE, UNBLOCKED],
  ['SET a v', OTHER, UNBLOCKED],
  ['RENAME a b', GONE, UNBLOCKED],
  [
    'XGROUP DESTROY a g',
    GONE,
    '-NOGROUP the consumer group this client was blocked on no longer exists',
  ],
])('who waits in a group is told that it is gone: %s', async (text, told, before) => {
  await entry(['XGROUP CREATE a g $ MKSTREAM'], undefined);
  expect(given(await entry([text], part(waits())))).toEqual([`1: ${told}`]);
  // in its own words by builds before, and so in their entries
  await entry(['DEL a', 'XGROUP CREATE a g $ MKSTREAM'], undefined);
  const other = { ...waits(), id: Buffer.from('2') };
  const older = applyVersions.laterRedis - 1;
  expect(given(await entry([text], part(other), older))).toEqual([`2: ${before}`]);
});

test('what was gone before the entry is told when the key is ready', async () => {
  expect(given(await entry([], { ...part(waits()), ready: [Buffer.from('a')] }))).toEqual([
    `1: ${GONE}`,
  ]);
  await entry(['XGROUP CREATE a g 0 MKSTREAM', 'XADD a 1-1 f v'], undefined);
  const other = { ...waits(), id: Buffer.from('2') };
  const step = await entry([], { ...part(other), ready: [Buffer.from('a')] });
  expect(given(step)).toEqual(['2: a 1-1 f v']);
});

test('a stream that is made anew within a transaction is what is waited for from then on', async () => {
  await entry(['XGROUP CREATE a g $ MKSTREAM'], undefined);
  const exec = encodeExec([line('DEL a'), line('XGROUP CREATE a g $ MKSTREAM')]);
  expect(given(await entry([exec], part(waits())))).toEqual([]);
});

test('asked, it runs as it was sent: what is wrong with it is told', async () => {
  const asked = { asked: true };
  const [missing, other] = ['a', 's'].map((key) => ({ ...waits(key), ...asked }));
  await entry(['SET s v'], undefined);
  expect(given(await entry([], part(missing!)))).toEqual([
    "1: -NOGROUP No such key 'a' or consumer group 'g' in XREADGROUP with GROUP option",
  ]);
  expect(given(await entry([], part({ ...other!, id: Buffer.from('2') })))).toEqual([
    '2: -WRONGTYPE Operation against a key holding the wrong kind of value',
  ]);
  await entry(['XGROUP CREATE a g $ MKSTREAM'], undefined);
  expect(given(await entry([], part({ ...missing!, id: Buffer.from('3') })))).toEqual([]);
});

test('in an entry without consumers of groups a key that is deleted is not filled by that', async () => {
  await entry(['RPUSH a x'], undefined);
  const exec = encodeExec([line('DEL a'), line('RPUSH b y'), line('RPUSH a z')]);
  const step = await entry([exec], part(waiter('1', 'BLPOP b a 0'), waiter('2', 'BLPOP b a 0')));
  expect(given(step)).toEqual(['1: b y', '2: a z']);
});
