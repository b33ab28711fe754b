import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/common/clock.ts';
import { fsDisk } from '../../../src/common/fs-disk.ts';
import { silentLogger } from '../../../src/common/log.ts';
import type { BatchOperation, Engine, EngineReader } from '../../../src/datanode/engine/engine.ts';
import { engineError } from '../../../src/datanode/engine/level-errors.ts';
import { createLevelHost } from '../../../src/datanode/engine/leveldb.ts';
import { withWriteBehind } from '../../../src/datanode/engine/write-behind.ts';

const MIB = 1024 * 1024;
const KEYS = 300;
const ALL = { gte: Buffer.alloc(0), lt: Buffer.of(0xff) };

let dir: string;
let engine: Engine;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'kvorum-kept-'));
  // small tables: there are many ends of them
  const sizes = { cacheBytes: 32 * MIB, writeBufferBytes: MIB, fileBytes: MIB };
  const largeWrites = {
    ...{ operationsMin: 20, bytesMax: MIB, operationsMax: 100 },
    ...{ partBytes: 256 * 1_024, redoBytes: 32 * 1_024 },
  };
  const host = createLevelHost({ dir, disk: fsDisk, logger: silentLogger, ...sizes, largeWrites });
  ({ engine } = await withWriteBehind(host, { clock: systemClock }).open('1-0'));
});

afterEach(async () => {
  await engine.close();
  await rm(dir, { recursive: true });
});

const keyOf = (at: number) => Buffer.from(`k${String(at).padStart(4, '0')}`);

/** `round` is what the value tells. */
function put(at: number, round: number): BatchOperation {
  const value = Buffer.alloc(20_000 + ((at * 37 + round * 11) % 900), 'x');
  value.writeUInt32BE(round);
  return { type: 'put', key: keyOf(at), value };
}

function write(at: number, round: number): Promise<void> {
  return engine.write([put(at, round)]);
}

/** The rounds that all values tell, in the order of their keys. */
async function roundsOf(
  reader: Pick<EngineReader, 'iterate'>,
  step: number,
  range = ALL,
): Promise<number[]> {
  const iterator = reader.iterate(range);
  const rounds: number[] = [];
  for (;;) {
    const pairs = await iterator.next(step);
    if (pairs.length === 0) break;
    for (const [, value] of pairs) rounds.push(value.readUInt32BE());
  }
  await iterator.close();
  return rounds;
}

/** Somebody who reads on while others write, by what he holds. */
const readers = {
  'a state that is kept': () => {
    const snapshot = engine.snapshot();
    snapshot.keep?.();
    return snapshot;
  },
  'a state of which single keys are read': () => engine.snapshot(),
  'an iterator': () => {
    const iterator = engine.iterate(ALL);
    return { iterate: () => iterator, close: async () => {} };
  },
} as const;

test.each(Object.entries(readers))(
  'beside %s a point read finds the newest',
  async (_, hold) => {
    const last = Array<number>(KEYS).fill(1);
    for (let at = 0; at < KEYS; at++) await write(at, 1);
    const held = hold();
    const stale = new Set<number>();
    for (let round = 2; round < 12; round++) {
      for (let step = 0; step < KEYS; step++) {
        const at = (step * 113) % KEYS;
        last[at] = round;
        await write(at, round);
        if (step % 25 > 0) continue;
        last.forEach((wanted, key) => {
          if (engine.getSync(keyOf(key))?.readUInt32BE() !== wanted) stale.add(key);
        });
      }
    }
    expect([...stale]).toEqual([]);
    expect(await roundsOf(held, 100)).toEqual(Array(KEYS).fill(1));
    await held.close();
  },
  60_000,
);

/** Writes that a state can hardly remember, or not at all, or that take long. */
const writes = {
  'of many operations': async (last: number[], round: number) => {
    const places = Array.from({ length: 120 }, (_, step) => (step * 113 + round) % KEYS);
    await engine.write(places.map((at) => put(at, round)));
    for (const at of places) last[at] = round;
  },
  'that clear ranges': async (last: number[], round: number) => {
    const from = (round * 71) % (KEYS - 100);
    await engine.clearRange({ gte: keyOf(from), lt: keyOf(from + 100) });
    last.fill(0, from, from + 100);
  },
} as const;

test.each(Object.entries(writes))(
  'after writes %s, with states held beside them, a point read finds the newest',
  async (_, writeMuch) => {
    const last = Array<number>(KEYS).fill(1);
    for (let at = 0; at < KEYS; at++) await write(at, 1);
    const held = [engine.snapshot()];
    const stale = new Set<number>();
    for (let round = 2; round < 20; round++) {
      const writing = writeMuch(last, round);
      await new Promise((resolve) => setImmediate(resolve));
      held.push(engine.snapshot());
      await writing;
      for (let step = 0; step < 60; step++) {
        const at = (step * 113 + round) % KEYS;
        last[at] = round;
        await write(at, round);
        if (step % 15 > 0) continue;
        last.forEach((wanted, key) => {
          if ((engine.getSync(keyOf(key))?.readUInt32BE() ?? 0) !== wanted) stale.add(key);
        });
      }
      if (round % 5 === 0) await held.splice(1, 1)[0]!.close();
    }
    expect([...stale]).toEqual([]);
    expect(await roundsOf(held[0]!, 100)).toEqual(Array(KEYS).fill(1));
    for (const state of held) await state.close();
  },
  120_000,
);

test('who reads a kept state together finds it as it was, each from where he is', async () => {
  for (let at = 0; at < KEYS; at++) await write(at, at);
  await engine.sync();
  const snapshot = engine.snapshot();
  snapshot.keep?.();
  for (let at = 0; at < KEYS; at += 2) await write(at, KEYS);
  const range = { gte: keyOf(10), lt: keyOf(200), limit: 150 };
  const read = await Promise.all([
    roundsOf(snapshot, 7),
    roundsOf(snapshot, 50),
    roundsOf(snapshot, 20, range),
  ]);
  const wanted = Array.from({ length: KEYS }, (_, at) => at);
  expect(read).toEqual([wanted, wanted, wanted.slice(10, 160)]);
  await snapshot.close();
  await snapshot.close();
}, 60_000);

test('a state that is kept ends with its engine', async () => {
  await write(1, 1);
  await engine.sync();
  const snapshot = engine.snapshot();
  snapshot.keep?.();
  await engine.close();
  await expect(snapshot.iterate(ALL).next(1)).rejects.toMatchObject({ code: 'STOPPING' });
  await snapshot.close();
}, 60_000);

test('who reads an engine, or a state of it, that is closed meanwhile is told so', async () => {
  for (let at = 0; at < KEYS; at++) await write(at, 1);
  const snapshot = engine.snapshot();
  const iterators = [engine.iterate(ALL), snapshot.iterate(ALL)];
  for (const iterator of iterators) await iterator.next(1);
  await engine.close();
  for (const iterator of iterators) {
    await expect(iterator.next(1)).rejects.toMatchObject({ code: 'STOPPING' });
    await iterator.close();
  }
  await snapshot.close();
  const late = Object.assign(new Error('not open'), { code: 'LEVEL_SNAPSHOT_NOT_OPEN' });
  expect(engineError('engines/1-0', late)).toMatchObject({ code: 'STOPPING' });
}, 60_000);
