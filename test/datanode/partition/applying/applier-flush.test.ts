/**
 * An entry with a FLUSHALL goes into the engine in several steps. Whatever of them a loss of power
 * or a snapshot has kept, the entry applied again comes to what it came to without.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { redisDataRange } from '../../../../src/datanode/encoding/records/key.ts';
import { STATE_KEY } from '../../../../src/datanode/encoding/records/system.ts';
import {
  functionNamed,
  libraryTotals,
} from '../../../../src/datanode/encoding/scripts/kept-libraries.ts';
import { scriptBody } from '../../../../src/datanode/encoding/scripts/kept-scripts.ts';
import { findServed } from '../../../../src/datanode/encoding/sessions/served.ts';
import { createView } from '../../../../src/datanode/encoding/txn/txn.ts';
import type { Engine, KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { type AppliedEntry, Applier } from '../../../../src/datanode/partition/applying/applier.ts';
import {
  KeyEventGate,
  type KeyEventSink,
} from '../../../../src/datanode/partition/applying/key-event-gate.ts';
import { encodeEnvelope } from '../../../../src/datanode/partition/entries/envelope.ts';
import type { CarriedWaiter } from '../../../../src/datanode/partition/entries/waiter-codec.ts';
import { decodeState } from '../../../../src/datanode/partition/storage/state.ts';
import type { Entry } from '../../../../src/datanode/raft/message.ts';

type Image = readonly KeyValue[];

const SLOTS = { firstSlot: 0, lastSlot: 16_383 };
const BIRTH = {
  index: 1,
  term: 1,
  timeMs: 0,
  epoch: 1,
  confState: { voters: [1], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false },
};
const EVERYTHING: KeyRange = { gte: Buffer.from([0]), lt: Buffer.from([0xff]) };

const line = (text: string) => text.split(' ').map((word) => Buffer.from(word));

function waiter(id: string, text: string, more: Partial<CarriedWaiter> = {}): CarriedWaiter {
  return { id: Buffer.from(id), line: line(text), protocol: 2, asked: false, ...more };
}

function entryOf(
  index: number,
  texts: readonly string[],
  waiters: readonly CarriedWaiter[] = [],
): Entry {
  const waiting = { ready: [], waiters, confirmed: [] };
  const lines = texts.map(line);
  const body = { family: 'redis', lines, ...(waiters.length > 0 ? { waiting } : {}) } as const;
  const data = encodeEnvelope({ timeMs: 1_700_000_000_000, seed: 7 + index, body });
  return { index, term: 1, kind: 'normal', data };
}

async function imageOf(engine: Engine): Promise<Image> {
  const iterator = engine.iterate(EVERYTHING);
  const image: KeyValue[] = [];
  for (;;) {
    const pairs = await iterator.next(1_000);
    if (pairs.length === 0) break;
    image.push(...pairs);
  }
  await iterator.close();
  return image;
}

async function engineWith(image: Image): Promise<Engine> {
  const { engine } = await createMemoryHost().open('1-0');
  await engine.write(image.map(([key, value]) => ({ type: 'put', key, value })));
  return engine;
}

/** Keeps in `images` what is there after each step; a range goes key by key, as it may on a disk. */
function watched(engine: Engine, images: Image[]): Engine {
  const write: Engine['write'] = async (operations) => {
    await engine.write(operations);
    images.push(await imageOf(engine));
  };
  return {
    getSync: (key) => engine.getSync(key),
    iterate: (range) => engine.iterate(range),
    snapshot: () => engine.snapshot(),
    approximateBytes: () => engine.approximateBytes(),
    sync: () => engine.sync(),
    close: () => engine.close(),
    write,
    clearRange: async (range) => {
      for (const [key] of await imageOf(engine)) {
        if (key.compare(range.gte) < 0 || key.compare(range.lt) >= 0) continue;
        await write([{ type: 'del', key }]);
      }
    },
  };
}

/** One that leads, and tells `sink` of events. */
const leading = (sink: KeyEventSink) =>
  new KeyEventGate(sink, 'default', () => ({ isLeader: true, term: 1 }));
const following = new KeyEventGate(undefined, 'default', () => ({ isLeader: false, term: 0 }));

async function apply(
  engine: Engine,
  entries: readonly Entry[],
  keyEvents = following,
): Promise<AppliedEntry[]> {
  const bytes = createView(engine).get(STATE_KEY);
  const state = bytes === undefined ? BIRTH : decodeState(bytes, 'this replica');
  const applied: AppliedEntry[] = [];
  let fault: unknown;
  const applier = new Applier(systemClock, engine, state, SLOTS, {
    mayGather: () => false,
    applyConfChange: () => BIRTH.confState,
    onClear: () => {},
    onApplied: (some) => applied.push(...some),
    keyEvents,
    onFault: (failure) => {
      fault = failure;
    },
  });
  applier.enqueue(entries, () => {});
  await applier.whenIdle();
  expect(fault).toBeUndefined();
  return applied;
}

/** Every state the engine goes through while `last` is applied, each gone on from. */
async function applyFromEverywhere(first: Entry, last: Entry) {
  const images: Image[] = [];
  const { engine } = await createMemoryHost().open('1-0');
  await apply(engine, [first]);
  const applied = await apply(watched(engine, images), [last]);
  const end = images.pop()!;
  expect(end).toEqual(await imageOf(engine));
  const again: AppliedEntry[] = [];
  for (const image of images) {
    const other = await engineWith(image);
    again.push(...(await apply(other, [last])));
    expect(await imageOf(other)).toEqual(end);
  }
  return { applied, again, end };
}

const textOf = (bytes: Buffer) => bytes.toString('latin1');

test('a client is given before a FLUSHALL what it was given the first time, and only it', async () => {
  const { applied, end } = await applyFromEverywhere(
    entryOf(2, ['RPUSH a x y']),
    entryOf(
      3,
      ['RPUSH a z', 'FLUSHALL', 'RPUSH b v'],
      [waiter('1', 'BLPOP a 0'), waiter('2', 'BLMOVE a c LEFT LEFT 0'), waiter('3', 'BLPOP b 0')],
    ),
  );
  const given = applied[0]!.served!.map(({ id, reply }) => {
    if (reply.kind !== 'encoded') throw new Error('kept as bytes');
    return `${id} ${textOf(reply.bytes)
      .replaceAll(/[*$]\d+|\r\n/g, ' ')
      .trim()
      .split(/ +/)
      .join(' ')}`;
  });
  expect(given).toEqual(['1 a x', '2 y', '3 b v']);
  // asked again, a later leader gives the same
  const view = createView(await engineWith(end));
  for (const { id, reply } of applied[0]!.served!) {
    expect(findServed(view, id)).toEqual(reply.kind === 'encoded' && reply.bytes);
  }
  expect(end.filter(([key]) => key[0]! >= redisDataRange().gte[0]!)).toEqual([]);
});

test('what is drawn after a FLUSHALL does not depend on what was there before it', async () => {
  const many = Array.from({ length: 40 }, (_, at) => `m${at}`).join(' ');
  const { end } = await applyFromEverywhere(
    entryOf(2, [`SADD a ${many}`]),
    entryOf(3, ['SPOP a 3', 'SPOP a', 'FLUSHALL', `SADD b ${many}`, 'SPOP b 5']),
  );
  expect(end.length).toBeGreaterThan(35);
});

test('a reply that was lost with what was there is not made up', async () => {
  const { applied, again } = await applyFromEverywhere(
    entryOf(2, ['SET n 41']),
    entryOf(3, ['INCR n', 'FLUSHDB', 'INCR n']),
  );
  const texts = ({ replies }: AppliedEntry) =>
    replies.map((reply) =>
      reply.kind === 'error' ? reply.text.split(' ')[0] : JSON.stringify(reply),
    );
  const value = (number: number) => JSON.stringify({ kind: 'integer', value: number });
  expect(applied[0]!.replies).toHaveLength(3);
  expect(texts(applied[0]!)[0]).toBe(value(42));
  for (const entry of again) {
    expect(texts(entry)).toEqual(['DONE', texts(applied[0]!)[1], value(1)]);
  }
  expect(again.length).toBeGreaterThan(0);
});

test('events of what an entry did before its FLUSHALL are told, once, and before those behind it', async () => {
  const told: string[] = [];
  const gate = leading({
    publishMessage: () => {},
    countLost: () => {},
    wanted: () => true,
    publish: (_namespace, events) =>
      told.push(...events.map(({ event, key }) => `${event} ${textOf(key)}`)),
  });
  const images: Image[] = [];
  const { engine } = await createMemoryHost().open('1-0');
  await apply(engine, [entryOf(2, ['RPUSH w x'])], gate);
  const last = entryOf(
    3,
    ['RPUSH w y', 'SET a 1', 'DEL a', 'FLUSHALL', 'SET b 1'],
    [waiter('1', 'BLPOP w 0')],
  );
  await apply(watched(engine, images), [last], gate);
  const first = ['new w', 'rpush w'];
  const early = ['rpush w', 'lpop w', 'new a', 'set a', 'del a'];
  expect(told).toEqual([...first, ...early, 'new b', 'set b']);
  // gone on from behind the first step: what was done before is not done again, nor told
  told.length = 0;
  await apply(await engineWith(images[0]!), [last], gate);
  expect(told).toEqual(['new b', 'set b']);
});

test('scripts outlive a FLUSHALL, those that came before it in its entry as well', async () => {
  const { end } = await applyFromEverywhere(
    entryOf(2, ['SCRIPT LOAD return(1)', 'SET a 1']),
    entryOf(3, ['EVAL return(2) 0', 'SCRIPT LOAD return(3)', 'FLUSHALL', 'EVAL return(4) 0']),
  );
  const view = createView(await engineWith(end));
  const kept = [1, 2, 3, 4].map((at) => {
    const sha = createHash('sha1').update(`return(${at})`).digest('hex');
    return scriptBody(view, sha)?.toString();
  });
  expect(kept).toEqual(['return(1)', 'return(2)', 'return(3)', 'return(4)']);
});

test('so do libraries of functions, and one that was deleted before it stays away', async () => {
  const load = (at: number) =>
    `FUNCTION LOAD #!lua\tname=l${at}\nredis.register_function('f${at}',redis.log)`;
  const { end } = await applyFromEverywhere(
    entryOf(2, [load(1), load(2), 'SET a 1']),
    entryOf(3, [load(3), 'FUNCTION DELETE l2', 'FLUSHALL', load(4)]),
  );
  const view = createView(await engineWith(end));
  const kept = [1, 2, 3, 4].map((at) => functionNamed(view, `f${at}`)?.library);
  expect(kept).toEqual(['l1', undefined, 'l3', 'l4']);
  expect(libraryTotals(view)).toMatchObject({ libraries: 3, functions: 3 });
});
