/**
 * A command that makes a large collection stores elements of it before its batch. Whatever of that a
 * crash or a snapshot has kept, the entry applied again comes to what it comes to when all is held in
 * memory until the end.
 */
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { encodeExec } from '../../../../src/datanode/commands/transactions/exec-line.ts';
import { isElementKey } from '../../../../src/datanode/encoding/records/element-key.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import { EARLY_KEY } from '../../../../src/datanode/encoding/txn/early-elements.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import type {
  BatchOperation,
  Engine,
  KeyRange,
  KeyValue,
} from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import { KeyEventGate } from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { encodeEnvelope } from '../../../../src/datanode/partition/entries/envelope.ts';
import { decodeState } from '../../../../src/datanode/partition/storage/state.ts';
import type { Entry } from '../../../../src/datanode/raft/message.ts';
import { encodeReply } from '../../../../src/datanode/resp/encode-reply.ts';

type Image = readonly KeyValue[];
type Line = readonly Buffer[];

const SLOTS = { firstSlot: 0, lastSlot: 16_383 };
const BIRTH = {
  index: 1,
  term: 1,
  timeMs: 0,
  epoch: 1,
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};
const EVERYTHING: KeyRange = { gte: Buffer.from([0]), lt: Buffer.from([0xff]) };
/** Of some ten changes: what is made below has hundreds. */
const LITTLE = 3_000;
const ALL = Number.POSITIVE_INFINITY;

const line = (text: string): Line => text.split(' ').map((word) => Buffer.from(word));
const exec = (...texts: string[]) => encodeExec(texts.map(line));

function entryOf(index: number, lines: readonly Line[]): Entry {
  const data = encodeEnvelope({
    timeMs: 1_700_000_000_000,
    seed: 7 + index,
    body: { family: 'redis', lines },
  });
  return { index, term: 1, kind: 'normal', data };
}

/** Members enough of each type. */
const FILLED = entryOf(
  2,
  Array.from({ length: 150 }, (_, at) => [
    line(`SADD {k}s m${at * 7}`),
    line(`SADD {k}t m${at * 5}`),
    line(`HSET {k}h f${at} v${at}`),
    line(`RPUSH {k}l e${at}`),
    line(`ZADD {k}z ${at % 17} m${at}`),
    ...(at % 2 === 0 ? [line(`XADD {k}x ${at + 1}-0 f v${at}`)] : []),
    ...(at === 0 ? [line('XGROUP CREATE {k}x g 0')] : []),
    ...(at === 140 ? [line('XREADGROUP GROUP g one COUNT 45 STREAMS {k}x >')] : []),
  ]).flat(),
);

async function imageOf(engine: Engine): Promise<Image> {
  const iterator = engine.iterate(EVERYTHING);
  const image: KeyValue[] = [];
  for (let pairs = await iterator.next(1_000); pairs.length > 0; ) {
    image.push(...pairs);
    pairs = await iterator.next(1_000);
  }
  await iterator.close();
  return image;
}

async function engineWith(image: Image): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  await engine.write(image.map(([key, value]) => ({ type: 'put', key, value })));
  return engine;
}

/** Tells `seen` of each batch, before it is written. */
function watched(engine: Engine, seen: (operations: readonly BatchOperation[]) => unknown): Engine {
  return {
    getSync: (key) => engine.getSync(key),
    iterate: (range) => engine.iterate(range),
    snapshot: () => engine.snapshot(),
    approximateBytes: () => engine.approximateBytes(),
    sync: () => engine.sync(),
    close: () => engine.close(),
    clearRange: (range) => engine.clearRange(range),
    write: async (operations) => {
      await seen([...operations]);
      await engine.write(operations);
    },
  };
}

async function apply(engine: Engine, entries: readonly Entry[], heldBytesMax: number) {
  const bytes = createView(engine).get(STATE_KEY);
  const state = bytes === undefined ? BIRTH : decodeState(bytes, 'this replica');
  const replies: string[] = [];
  let fault: unknown;
  const applier = new Applier(systemClock, engine, state, SLOTS, {
    heldBytesMax,
    mayGather: () => false,
    applyConfChange: () => BIRTH.confState,
    onClear: () => {},
    onApplied: (some) => {
      for (const entry of some) {
        replies.push(...entry.replies.map((reply) => String(encodeReply(reply, 3))));
      }
    },
    keyEvents: new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 })),
    onFault: (failure) => {
      fault = failure;
    },
  });
  applier.enqueue(entries, () => {});
  await applier.whenIdle();
  expect(fault).toBeUndefined();
  return replies;
}

/** The end where all was held in memory. */
async function held(lines: readonly Line[]) {
  const { engine } = await createMemoryHost().open('1-0');
  await apply(engine, [FILLED], ALL);
  const begin = await imageOf(engine);
  const replies = await apply(engine, [entryOf(3, lines)], ALL);
  return { begin, replies, end: await imageOf(engine) };
}

/** Nine of them at most, the last one among them. */
function some(images: readonly Image[]): readonly Image[] {
  const step = Math.ceil(images.length / 8);
  return images.filter((_, at) => at % step === 0 || at === images.length - 1);
}

const CASES: readonly (readonly [string, readonly Line[]])[] = [
  ['COPY of a set', [line('COPY {k}s {k}c')]],
  ['COPY of a hash', [line('COPY {k}h {k}c')]],
  ['COPY of a list', [line('COPY {k}l {k}c')]],
  ['COPY of a sorted set', [line('COPY {k}z {k}c')]],
  ['COPY of a stream', [line('COPY {k}x {k}c')]],
  ['SUNIONSTORE', [line('SUNIONSTORE {k}c {k}s {k}t')]],
  ['SUNIONSTORE into one of its sources', [line('SUNIONSTORE {k}s {k}s {k}t')]],
  ['ZUNIONSTORE', [line('ZUNIONSTORE {k}c 2 {k}z {k}s')]],
  ['SORT STORE', [line('SORT {k}s ALPHA STORE {k}c')]],
  [
    'a transaction that reads, changes and copies what it has made',
    [
      exec(
        'COPY {k}s {k}c',
        'SUNIONSTORE {k}d {k}c {k}t',
        'SREM {k}c m0 m7 m14 m700',
        'SADD {k}c m7 more',
        'SMISMEMBER {k}c m0 m7 m14 m21 more',
        'SINTER {k}c {k}d',
        'COPY {k}c {k}e',
        'SPOP {k}e 100',
        'COPY {k}z {k}y',
        'ZRANGE {k}y 20 120 WITHSCORES',
        'ZADD {k}y 3 m149 -4 new',
        'ZRANK {k}y m149',
        'COPY {k}l {k}k',
        'LTRIM {k}k 20 140',
        'LINDEX {k}k 60',
        'COPY {k}h {k}g',
        'HDEL {k}g f1 f2',
        'HGETALL {k}g',
        'COPY {k}x {k}w',
        'XADD {k}w * f more',
        'XACK {k}w g 5-0 7-0',
        'XREADGROUP GROUP g two COUNT 30 STREAMS {k}w >',
        'XTRIM {k}w MAXLEN 40',
        'XRANGE {k}w - + COUNT 5',
        'DEL {k}d',
      ),
    ],
  ],
  [
    'commands of one entry, the later ones over what the first has made',
    [
      line('SUNIONSTORE {k}c {k}s {k}t'),
      line('SREM {k}c m5'),
      line('SDIFFSTORE {k}d {k}c {k}t'),
      line('DEL {k}c'),
      line('SINTERSTORE {k}c {k}d {k}s'),
    ],
  ],
];

test.each(CASES)('%s', async (_, lines) => {
  const { begin, replies, end } = await held(lines);
  const images: Image[] = [];
  let storedEarly = 0;
  let heldMost = 0;
  const engine = await engineWith(begin);
  const seen = async (operations: readonly BatchOperation[]) => {
    images.push(await imageOf(engine));
    const elements = operations.filter(({ key }) => isElementKey(key)).length;
    const isLast = operations.some(({ key }) => key.equals(STATE_KEY));
    if (isLast) heldMost = Math.max(heldMost, elements);
    else storedEarly += elements;
  };
  const last = entryOf(3, lines);
  expect(await apply(watched(engine, seen), [last], LITTLE)).toEqual(replies);
  expect(await imageOf(engine)).toEqual(end);
  expect(storedEarly).toBeGreaterThan(100);
  expect(heldMost).toBeLessThan(storedEarly / 2);
  for (const [at, image] of some(images).entries()) {
    const other = await engineWith(image);
    expect(await apply(other, [last], at % 2 === 0 ? ALL : LITTLE)).toEqual(replies);
    expect(await imageOf(other)).toEqual(end);
  }
});

test('what was stored of an entry that a build without the mark has applied stays', async () => {
  const { begin, end } = await held([line('COPY {k}s {k}c')]);
  const images: Image[] = [];
  const engine = await engineWith(begin);
  const seen = async () => images.push(await imageOf(engine));
  await apply(watched(engine, seen), [entryOf(3, [line('COPY {k}s {k}c')])], LITTLE);
  const [mark] = images.at(-1)!.filter(([key]) => key.equals(EARLY_KEY));
  const other = await engineWith([...end, mark!]);
  const empty = entryOf(4, [line('DEL {k}none')]);
  expect(await apply(other, [empty], ALL)).toEqual([':0\r\n']);
  const elements = (image: Image) => image.filter(([key]) => isElementKey(key));
  expect(elements(await imageOf(other))).toEqual(elements(end));
  expect(createView(other).get(EARLY_KEY)).toBeUndefined();
});
