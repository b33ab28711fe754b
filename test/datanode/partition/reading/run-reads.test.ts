/** Batches of reads whose ranges are known: they share the time of a turn with everybody else. */
import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import { Txn } from '../../../../src/datanode/encoding/txn/txn.ts';
import { LostStateError } from '../../../../src/datanode/engine/lost-state.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import { applyLines } from '../../../../src/datanode/partition/applying/apply-lines.ts';
import type { CommandBatch, LineResult } from '../../../../src/datanode/partition/entries/batch.ts';
import type { RangeRead } from '../../../../src/datanode/partition/reading/range-line.ts';
import { RangeRoom } from '../../../../src/datanode/partition/reading/range-room.ts';
import { isSinglePoint } from '../../../../src/datanode/partition/reading/read-lines.ts';
import {
  type ReadOutcome,
  runReads,
} from '../../../../src/datanode/partition/reading/run-reads.ts';
import {
  knownWorld,
  type ReadEngine,
  withHotRanges,
} from '../../../../src/datanode/partition/remembering/hot-engines.ts';
import type { ReplicaState } from '../../../../src/datanode/partition/storage/state.ts';
import { Pace } from '../../../../src/datanode/partition/turns/pace.ts';
import { handClock } from '../hand-clock.ts';

const ELEMENTS = 100;
const lookups = { mayLookUp: () => true } as never;

async function setup() {
  const clock = handClock();
  const pace = new Pace(clock);
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383, pace };
  const { engine } = await withHotRanges(
    createMemoryHost(),
    knownWorld(
      systemClock,
      { keyFilterMisses: 10, knownRecordsBytes: 98_304, hotValuesBytes: 65_536 },
      seededRandom(1),
    ),
  ).open('1-0');
  const elements = Array.from({ length: ELEMENTS }, (_, at) => Buffer.from(`e${at}`));
  const line = [Buffer.from('RPUSH'), Buffer.from('l'), ...elements];
  const txn = new Txn(engine);
  txn.beginEntry(1);
  await applyLines(txn, [line], context, {} as ReplicaState);
  await engine.write(txn.operations());
  const run = (lines: number) =>
    given(runReads(readOf(batchOf(lines)), engine as ReadEngine, context, means(pace)));
  return { clock, engine: engine as ReadEngine, run };
}

const means = (pace: Pace) => ({ lookups, pace, ranges: new RangeRoom() });

function readOf(batch: CommandBatch): RangeRead {
  return { batch, singlePoint: isSinglePoint(batch), size: 'small', place: undefined };
}

/** What came of a read that has a place. */
function given(outcome: ReadOutcome | Promise<ReadOutcome>): LineResult[] | Promise<LineResult[]> {
  if (outcome instanceof Promise) return outcome.then(given);
  return typeof outcome === 'string' ? expect.unreachable(`waits: ${outcome}`) : outcome;
}

function batchOf(lines: number): CommandBatch {
  const line = ['LRANGE', 'l', '0', '-1'].map((word) => Buffer.from(word));
  return {
    ...{ namespace: 'default', partition: 0, kind: 'read', protocol: 2, term: undefined },
    ...{ lines: Array.from({ length: lines }, () => line), deadlineMs: 1_000 },
  };
}

const sizes = (results: readonly LineResult[]) =>
  results.map((result) => (result.ok && result.reply.kind === 'array' ? 'an array' : result));

test('what was read once is read again in the same turn', async () => {
  const { engine, run } = await setup();
  expect(run(1)).toBeInstanceOf(Promise);
  await run(1);
  expect(engine.hot!.isIdle).toBe(false);
  const again = run(3);
  expect(again).not.toBeInstanceOf(Promise);
  expect(sizes(await again)).toEqual(['an array', 'an array', 'an array']);
});

test('a long batch of them leaves time to others', async () => {
  const { run } = await setup();
  await run(1);
  const results = run(10 * limits.turnStepsMax);
  expect(results).toBeInstanceOf(Promise);
  expect(new Set(sizes(await results))).toEqual(new Set(['an array']));
});

test('a turn that has had its time reads no more of what is known', async () => {
  const { clock, run } = await setup();
  await run(1);
  run(1);
  clock.ms += limits.workMs;
  expect(run(1)).toBeInstanceOf(Promise);
});

test.each([
  [1, 2],
  [3, 4],
  [4, undefined],
])('a state that is lost %i times is taken anew, if it is not too often', async (lost, states) => {
  const { engine, run } = await setup();
  const opened: string[] = [];
  const snapshot = engine.snapshot.bind(engine);
  const write = vi.spyOn(engine, 'write');
  engine.snapshot = () => {
    const state = snapshot();
    const { length } = opened;
    opened.push('open');
    const getSync = (key: Buffer) => {
      if (length < lost) throw new LostStateError('1-0');
      return state.getSync(key);
    };
    const close = () => {
      opened[length] = 'closed';
      return state.close();
    };
    return { getSync, iterate: (range) => state.iterate(range), close };
  };
  const results = Promise.resolve(run(3));
  if (states === undefined) await expect(results).rejects.toMatchObject({ code: 'BUSY' });
  else expect(sizes(await results)).toEqual(['an array', 'an array', 'an array']);
  expect(opened).toEqual(Array(states ?? 4).fill('closed'));
  // behind what it was lost of
  expect(write.mock.calls).toEqual(Array(opened.length - 1).fill([[]]));
});

/** A batch over strings of so many bytes, each read of which takes a turn's time. */
async function readStrings(texts: readonly string[], bytes: number, room?: CommandBatch['room']) {
  const clock = handClock();
  const pace = new Pace(clock);
  const context = { nowMs: 1, random: () => 0, firstSlot: 0, lastSlot: 16_383, pace };
  const { engine } = await createMemoryHost().open('1-0');
  const txn = new Txn(engine);
  txn.beginEntry(1);
  const words = (text: string) => text.split(' ').map((word) => Buffer.from(word));
  const sets = ['a', 'b', 'c', 'd'].map((key) => [
    ...words(`SET ${key}`),
    Buffer.alloc(bytes, key),
  ]);
  await applyLines(txn, sets, context, {} as ReplicaState);
  await engine.write(txn.operations());
  let reads = 0;
  let [turn, inTurn, most] = [-1, 0, 0];
  const slow = <Reader extends Pick<ReadEngine, 'getSync'>>(reader: Reader) => {
    const getSync = reader.getSync.bind(reader);
    return Object.assign(reader, {
      getSync(key: Buffer) {
        reads++;
        clock.ms += limits.workMs;
        if (clock.turns !== turn) [turn, inTurn] = [clock.turns, 0];
        most = Math.max(most, ++inTurn);
        return getSync(key);
      },
    });
  };
  const snapshot = engine.snapshot.bind(engine);
  const target = Object.assign(slow(engine), { snapshot: () => slow(snapshot()) });
  const lines = texts.map(words);
  const batch = { ...batchOf(0), lines, ...(room && { room }) };
  const outcome = runReads(readOf(batch), target as ReadEngine, context, means(pace));
  const ran = await outcome;
  const results = typeof ran === 'string' ? undefined : ran;
  return { results, reads: () => reads, most: () => most };
}

test('many points of one long string are one read of it, or two', async () => {
  const texts = Array.from({ length: 200 }, (_, at) => `GETBIT a ${at % 8}`);
  const { results, reads } = await readStrings(texts, 2_097_152);
  const bits = [0, 1, 1, 0, 0, 0, 0, 1]; // of the letter a
  const values = results!.map((result) => result.ok && result.reply);
  expect(values).toEqual(texts.map((_, at) => ({ kind: 'integer', value: bits[at % 8] })));
  expect(reads()).toBeLessThanOrEqual(2);
});

test('reads of long strings, one after the other, leave time to others', async () => {
  const texts = Array.from({ length: 40 }, (_, at) => `STRLEN ${'abcd'[at % 4]}`);
  const { results, reads, most } = await readStrings(texts, 600_000);
  expect(results).toEqual(
    texts.map(() => ({ ok: true, reply: { kind: 'integer', value: 600_000 } })),
  );
  expect(reads()).toBe(texts.length);
  // two are a megabyte; the snapshot begins in a turn of its own
  expect(most()).toBeLessThanOrEqual(2);
});

test('without room for long strings none is read on', async () => {
  const room = { mayBeginLarge: false } as never;
  const { results, reads } = await readStrings(['STRLEN a', 'STRLEN b'], 2_097_152, room);
  expect(results).toBeUndefined();
  expect(reads()).toBe(1);
});
