import { afterEach, beforeEach, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { sealRecord } from '../../../../src/datanode/encoding/records/record.ts';
import { ReadAhead } from '../../../../src/datanode/encoding/txn/read-ahead.ts';
import type {
  Engine,
  EngineIterator,
  EngineReader,
  KeyRange,
} from '../../../../src/datanode/engine/engine.ts';
import { createMemoryHost } from '../../../../src/datanode/engine/memory.ts';

const COUNT = 5 * limits.rangeSlicePairs + 7;
const keyOf = (at: number) => Buffer.from([0x10, at >> 8, at & 0xff]);
const all: KeyRange = { gte: keyOf(0), lt: keyOf(COUNT) };

let engine: Engine;

beforeEach(async () => {
  ({ engine } = await createMemoryHost().open('1-0'));
  const keys = Array.from({ length: COUNT }, (_, at) => keyOf(at));
  await engine.write(
    keys.map((key) => ({ type: 'put', key, value: sealRecord(key, Buffer.from('v')) })),
  );
});

afterEach(() => engine.close());

/** Tells how many iterators were made, how often they were asked, and how many are open. */
function watched(
  next: (iterator: EngineIterator, count: number) => ReturnType<EngineIterator['next']>,
) {
  const seen = { made: 0, asked: 0, open: 0 };
  const reader: EngineReader = {
    getSync: (key) => engine.getSync(key),
    iterate(range) {
      const iterator = engine.iterate(range);
      seen.made++;
      seen.open++;
      return {
        next(count) {
          seen.asked++;
          return next(iterator, count);
        },
        close() {
          seen.open--;
          return iterator.close();
        },
      };
    },
  };
  return { seen, source: new ReadAhead(reader) };
}

async function walk(source: ReadAhead, range: KeyRange, limit?: number): Promise<Buffer[]> {
  const keys: Buffer[] = [];
  for (let rest = range; ; ) {
    const pairs = await source.range(limit === undefined ? rest : { ...rest, limit });
    const last = pairs.at(-1)?.[0];
    if (last === undefined) return keys;
    keys.push(...pairs.map(([key]) => key));
    rest = range.reverse
      ? { ...rest, lt: last }
      : { ...rest, gte: Buffer.concat([last, Buffer.from([0])]) };
  }
}

test.each([false, true])('a long walk stays on one iterator, reverse: %s', async (reverse) => {
  const { seen, source } = watched((iterator, count) => iterator.next(count));
  const keys = await walk(source, { ...all, reverse });
  const wanted = Array.from({ length: COUNT }, (_, at) => keyOf(at));
  expect(keys).toEqual(reverse ? wanted.reverse() : wanted);
  expect(seen.made).toBe(2);
  await source.end();
  expect(seen.open).toBe(0);
});

test('the slice behind the one that is worked on is being read', async () => {
  const { seen, source } = watched((iterator, count) => iterator.next(count));
  const slice = limits.rangeSlicePairs;
  await source.read(all);
  const first = seen.asked;
  await source.read({ ...all, gte: Buffer.concat([keyOf(slice - 1), Buffer.from([0])]) });
  expect(seen.asked).toBe(first + 2);
  expect(source.known({ ...all, gte: keyOf(slice) })?.pairs).toHaveLength(slice);
});

test('walks that jump, or want little, leave no iterator open', async () => {
  const { seen, source } = watched((iterator, count) => iterator.next(count));
  for (const at of [300, 5, 400, 100]) {
    expect((await source.range({ ...all, gte: keyOf(at) }))[0]![0]).toEqual(keyOf(at));
    expect(seen.open).toBe(0);
  }
  expect(await walk(source, all, 10)).toHaveLength(COUNT);
  expect(seen.open).toBe(0);
  const begun = { ...all, gte: keyOf(0) };
  await source.read(begun);
  await source.read({
    ...begun,
    gte: Buffer.concat([keyOf(limits.rangeSlicePairs - 1), Buffer.from([0])]),
  });
  expect(seen.open).toBe(1);
  await source.read({ ...all, gte: keyOf(3) });
  expect(seen.open).toBe(0);
});

test('a read that fails ahead is told to who comes that far, and to nobody else', async () => {
  let left = 3;
  const failing = watched((iterator, count) =>
    --left < 0 ? Promise.reject(new Error('the disk is gone')) : iterator.next(count),
  );
  await expect(walk(failing.source, all)).rejects.toThrow('the disk is gone');
  await failing.source.end();
  expect(failing.seen.open).toBe(0);
  left = 2;
  const stopped = watched((iterator, count) =>
    --left < 0 ? Promise.reject(new Error('the disk is gone')) : iterator.next(count),
  );
  const slice = limits.rangeSlicePairs;
  await stopped.source.read(all);
  await stopped.source.read({ ...all, gte: Buffer.concat([keyOf(slice - 1), Buffer.from([0])]) });
  await stopped.source.end();
  expect(stopped.seen.open).toBe(0);
});

test('a long walk over keys alone reads what all others do', async () => {
  const { source } = watched((iterator, count) => iterator.next(count));
  expect(await walk(source, { ...all, keysOnly: true })).toHaveLength(COUNT);
  await source.end();
});

/** A pair at a time or two, each asked for by another command. */
async function inTurns(source: ReadAhead, direction: { reverse: boolean }, count: number) {
  const met: number[] = [];
  let rest: KeyRange = { ...all, ...direction };
  for (let turn = 0; turn < count; turn++) {
    const pairs = await source.range({ ...rest, limit: 1 + (turn % 2) });
    expect(pairs).toHaveLength(1 + (turn % 2));
    for (const [key] of pairs) met.push(key[1]! * 256 + key[2]!);
    const last = pairs.at(-1)![0];
    rest = direction.reverse
      ? { ...rest, lt: last }
      : { ...rest, gte: Buffer.concat([last, Buffer.from([0])]) };
  }
  return met;
}

test.each([false, true])(
  'who wants few pairs again and again, each time behind the last, is read more (reverse %s)',
  async (reverse) => {
    const { seen, source } = watched((iterator, count) => iterator.next(count));
    const met = await inTurns(source, { reverse }, 40);
    const expected = Array.from({ length: 60 }, (_, at) => (reverse ? COUNT - 1 - at : at));
    expect(met).toEqual(expected);
    expect(seen.made).toBeLessThanOrEqual(4);
    expect(seen.open).toBe(0);
  },
);

test('what is asked for elsewhere is read as it is asked for', async () => {
  let most = 0;
  const { source } = watched(async (iterator, count) => {
    most = Math.max(most, count);
    return iterator.next(count);
  });
  for (const at of [5, 300, 20, 100]) await source.range({ ...all, gte: keyOf(at), limit: 2 });
  expect(most).toBe(2);
});
