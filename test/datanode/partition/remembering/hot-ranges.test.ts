import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/common/clock.ts';
import { limits } from '../../../../src/common/limits.ts';
import { type Random, seededRandom } from '../../../../src/common/random.ts';
import {
  elementRange,
  encodeListKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import { ReadAhead } from '../../../../src/datanode/encoding/txn/read-ahead.ts';
import {
  type BatchOperation,
  type Engine,
  type KeyRange,
  limited,
} from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';
import {
  knownWorld,
  withHotRanges,
} from '../../../../src/datanode/partition/remembering/hot-engines.ts';
import {
  HotPool,
  type HotRanges,
} from '../../../../src/datanode/partition/remembering/hot-ranges.ts';
import { cpuMsOf } from '../../../cpu-time.ts';

const placeOf = (list: number) => ({ slot: 7, version: { index: 3, ordinal: list } });
const keyOf = (list: number, whole: number) =>
  encodeListKey(placeOf(list), { whole, fraction: Buffer.alloc(0) });
const between = (list: number, from: number, to: number): KeyRange => ({
  gte: keyOf(list, from),
  lt: keyOf(list, to),
});
const all = (list: number) => elementRange(tags.listElement, placeOf(list));

const put = (list: number, whole: number, value: string): BatchOperation => {
  const key = keyOf(list, whole);
  return { type: 'put', key, value: sealRecord(key, Buffer.from(value)) };
};

async function open(pool?: HotPool) {
  const { engine } = await withHotRanges(
    createMemoryHost(),
    knownWorld(
      systemClock,
      { keyFilterMisses: 10, knownRecordsBytes: 98_304, hotValuesBytes: 65_536 },
      seededRandom(1),
    ),
    pool,
  ).open('1-0');
  return engine as Engine & { readonly hot: HotRanges };
}

type HotEngine = Awaited<ReturnType<typeof open>>;

/** Reads a slice of the engine as it is now, as a read that comes upon an unknown range does. */
async function read(engine: HotEngine, range: KeyRange, meanwhile = async () => {}) {
  const [snapshot, fill] = [engine.snapshot(), engine.hot.open()];
  const source = new ReadAhead(snapshot, fill.keep);
  await meanwhile();
  await source.range(range);
  await source.end();
  fill.end();
  await snapshot.close();
}

const shown = (pairs: readonly (readonly [Buffer, Buffer])[] | undefined) =>
  pairs?.map(([key, value]) => [key.readUInt32BE(19), value.toString()]);

describe('what was read of a collection', () => {
  test('is known, in either direction, and any part of it', async () => {
    const engine = await open();
    await engine.write([1, 2, 3, 5].map((at) => put(1, at, `v${at}`)));
    expect(engine.hot.known(all(1))).toBeUndefined();
    await read(engine, all(1));
    expect(shown(engine.hot.known(between(1, 2, 6)))).toEqual([
      [2, 'v2'],
      [3, 'v3'],
      [5, 'v5'],
    ]);
    expect(shown(engine.hot.known(limited(all(1), 2, true)))).toEqual([
      [5, 'v5'],
      [3, 'v3'],
    ]);
    expect(engine.hot.known(between(1, 4, 5))).toEqual([]);
    expect(engine.hot.known(between(1, 4, 4))).toEqual([]);
    expect(engine.hot.known(all(2))).toBeUndefined();
  });

  test('is known as far as it was read', async () => {
    const engine = await open();
    await engine.write([1, 2, 3, 4].map((at) => put(1, at, `v${at}`)));
    await read(engine, limited(between(1, 2, 9), 2));
    expect(shown(engine.hot.known(limited(between(1, 2, 9), 2)))?.length).toBe(2);
    expect(engine.hot.known(limited(between(1, 2, 9), 3))).toBeUndefined();
    expect(engine.hot.known(limited(between(1, 1, 3), 1))).toBeUndefined();
    expect(engine.hot.known(limited(between(1, 2, 9), 1, true))).toBeUndefined();
  });

  test('grows by what is read beside it', async () => {
    const engine = await open();
    await engine.write([1, 2, 3, 4, 5].map((at) => put(1, at, `v${at}`)));
    await read(engine, between(1, 2, 4));
    await read(engine, between(1, 4, 9));
    await read(engine, { ...between(1, 0, 2), reverse: true });
    expect(shown(engine.hot.known(between(1, 0, 9)))?.length).toBe(5);
  });

  test('keeps what was read first of a collection that is too large', async () => {
    const engine = await open();
    const count = limits.hotRangePairs + 200;
    const operations = Array.from({ length: count }, (_, at) => put(1, at, 'v'));
    for (const operation of operations) await engine.write([operation]);
    const [snapshot, fill] = [engine.snapshot(), engine.hot.open()];
    const source = new ReadAhead(snapshot, fill.keep);
    for (let from = 0; from < count; ) {
      from += (await source.range(between(1, from, count))).length;
    }
    await source.end();
    fill.end();
    await snapshot.close();
    expect(engine.hot.known(limited(between(1, 0, count), 64))?.length).toBe(64);
    expect(engine.hot.known(limited(between(1, count - 64, count), 64))).toBeUndefined();
  });

  test('grows by what overlaps it, and does not shrink to a part of it', async () => {
    const engine = await open();
    await engine.write([1, 2, 3, 4, 5].map((at) => put(1, at, `v${at}`)));
    await read(engine, between(1, 1, 4));
    await read(engine, between(1, 3, 6));
    await read(engine, between(1, 2, 3));
    expect(shown(engine.hot.known(between(1, 1, 6)))?.map(([at]) => at)).toEqual([1, 2, 3, 4, 5]);
  });

  test('learns the end of a collection from a slice that is empty', async () => {
    const engine = await open();
    await engine.write([1, 2].map((at) => put(1, at, `v${at}`)));
    await read(engine, limited(all(1), 2));
    expect(engine.hot.known(all(1))).toBeUndefined();
    await read(engine, { ...all(1), gte: Buffer.concat([keyOf(1, 2), Buffer.from([0])]) });
    expect(shown(engine.hot.known(all(1)))?.length).toBe(2);
    await read(engine, all(2));
    expect(engine.hot.known(all(2))).toBeUndefined();
  });

  test('is forgotten when an element is written, removed, or all are', async () => {
    const engine = await open();
    const changes: (() => Promise<void>)[] = [
      () => engine.write([put(1, 2, 'new')]),
      () => engine.write([{ type: 'del', key: keyOf(1, 1) }]),
      () => engine.clearRange(all(1)),
      () => engine.write(Array.from({ length: 2_000 }, (_, at) => put(2, at, 'x'))),
    ];
    for (const change of changes) {
      await engine.write([put(1, 1, 'v')]);
      await read(engine, all(1));
      expect(engine.hot.known(all(1))).toBeDefined();
      await change();
      expect(engine.hot.known(all(1))).toBeUndefined();
    }
    await read(engine, all(2));
    await engine.write([put(1, 1, 'another collection')]);
    expect(engine.hot.known(limited(all(2), 1))).toBeDefined();
  });

  test('is not kept when the collection changed while it was read', async () => {
    const engine = await open();
    await engine.write([put(1, 1, 'old')]);
    await read(engine, all(1), () => engine.write([put(1, 1, 'new')]));
    expect(engine.hot.known(all(1))).toBeUndefined();
    await read(engine, all(1), () => engine.clearRange(all(1)));
    expect(engine.hot.known(all(1))).toBeUndefined();
    await engine.write([put(1, 1, 'again')]);
    await read(engine, all(1), () => engine.write([put(2, 1, 'another')]));
    expect(engine.hot.known(all(1))).toBeDefined();
  });

  test('is not kept when it was read while the change was under way', async () => {
    const engine = await open();
    await engine.write([put(1, 1, 'old')]);
    const written = engine.write([put(1, 1, 'new')]);
    const reading = read(engine, all(1));
    await Promise.all([written, reading]);
    const known = shown(engine.hot.known(all(1)));
    expect([undefined, 'new']).toContain(known?.[0]?.[1]);
    expect(engine.hot.known(all(1))).toBeUndefined();
  });

  test('is not kept of an engine that was closed', async () => {
    const pool = new HotPool();
    const engine = await open(pool);
    await engine.write([put(1, 1, 'v')]);
    await read(engine, all(1), async () => engine.hot.clear());
    expect(pool.bytes).toBe(0);
    await read(engine, all(1));
    expect(pool.bytes).toBeGreaterThan(0);
    await engine.close();
    expect(pool.bytes).toBe(0);
  });

  test('of what may lie in other collections is not kept', async () => {
    const engine = await open();
    await engine.write([put(1, 1, 'v'), put(2, 1, 'v')]);
    await read(engine, { gte: all(1).gte, lt: all(2).lt });
    expect(engine.hot.known(all(1))).toBeUndefined();
  });

  test('that is large is not kept', async () => {
    const engine = await open();
    await engine.write([put(1, 1, 'v'.repeat(limits.hotRangeBytes))]);
    await read(engine, all(1));
    expect(engine.hot.known(all(1))).toBeUndefined();
  });
});

test('much that is known is forgotten in no time', async () => {
  const pool = new HotPool(64 * 1_048_576);
  const engine = await open(pool);
  for (let list = 1; list <= 20_000; list += 500) {
    await engine.write(Array.from({ length: 500 }, (_, at) => put(list + at, 1, 'v')));
    for (let at = 0; at < 500; at++) await read(engine, all(list + at));
  }
  expect(pool.bytes).toBeGreaterThan(20_000 * 1_024);
  const cpuMs = cpuMsOf(() => engine.hot.clear());
  expect(pool.bytes).toBe(0);
  // one by one they take 60 ms
  expect(cpuMs).toBeLessThan(20);
});

test('engines together keep no more than they may: who keeps most gives up the oldest', async () => {
  const pool = new HotPool(8_000);
  const engines = [await open(pool), await open(pool)];
  for (const engine of engines) {
    for (let list = 1; list <= 4; list++) await engine.write([put(list, 1, 'v'.repeat(100))]);
  }
  const [one, other] = engines as [HotEngine, HotEngine];
  for (let list = 1; list <= 4; list++) await read(one, all(list));
  expect(one.hot.known(all(1))).toBeDefined();
  await read(other, all(1));
  expect([2, 3, 4, 1].map((list) => one.hot.known(all(list)) !== undefined)).not.toContain(false);
  await read(other, all(2));
  expect(pool.bytes).toBeLessThanOrEqual(8_000);
  expect([1, 2, 3, 4].map((list) => one.hot.known(all(list)) !== undefined)).toEqual([
    true,
    false,
    true,
    true,
  ]);
});

test('whatever is written, read and asked at once, what is known is what there is', async () => {
  let answered = 0;
  for (let seed = 1; seed <= 60; seed++) answered += await play(seededRandom(`hot ${seed}`));
  expect(answered).toBeGreaterThan(500);
});

const LISTS = 3;
const PLACES = 12;

/** Returns how many questions were answered by what is known. */
async function play(random: Random): Promise<number> {
  const engine = await open(new HotPool(8_000));
  const pending: Promise<void>[] = [];
  let answered = 0;
  for (let step = 0; step < 300; step++) {
    const drawn = random.below(10);
    if (drawn < 1) pending.push(write(engine, random));
    else if (drawn < 5) pending.push(readSoon(engine, random));
    else if (drawn < 6) await Promise.all(pending.splice(0));
    else {
      // a reader waits for the batch that is under way
      await Promise.all(writing.splice(0));
      if (await isRight(engine, draw(random))) answered++;
    }
  }
  await Promise.all(pending);
  await engine.close();
  return answered;
}

const writing: Promise<void>[] = [];

function write(engine: HotEngine, random: Random): Promise<void> {
  const written = change(engine, random);
  writing.push(written);
  return written;
}

function change(engine: HotEngine, random: Random): Promise<void> {
  if (random.below(20) === 0) return engine.clearRange(all(random.below(LISTS)));
  const operations = Array.from({ length: 1 + random.below(3) }, (): BatchOperation => {
    const [list, at] = [random.below(LISTS), random.below(PLACES)];
    if (random.below(3) === 0) return { type: 'del', key: keyOf(list, at) };
    return put(list, at, `v${random.below(1_000)}`);
  });
  return engine.write(operations);
}

/** Some reads come while a batch is written. */
async function readSoon(engine: HotEngine, random: Random): Promise<void> {
  const range = draw(random);
  await read(engine, range, async () => {
    if (random.below(2) === 0) await new Promise(setImmediate);
  });
}

function draw(random: Random): KeyRange {
  const list = random.below(LISTS);
  const from = random.below(PLACES);
  const range =
    random.below(3) === 0 ? all(list) : between(list, from, from + random.below(PLACES));
  const limit = random.below(2) === 0 ? 1 + random.below(4) : PLACES;
  return limited(range, limit, random.below(2) === 0);
}

async function isRight(engine: HotEngine, range: KeyRange): Promise<boolean> {
  const known = shown(engine.hot.known(range));
  const snapshot = engine.snapshot();
  const there = shown([...(await new ReadAhead(snapshot).range(range))]);
  await snapshot.close();
  if (known !== undefined) expect(known).toEqual(there);
  return known !== undefined && known.length > 0;
}
