import { expect, test } from 'vitest';
import { seededRandom } from '../../../../src/common/random.ts';
import {
  type Members,
  POSITION_END,
  pickDistinct,
  pickOne,
  pickWithRepeats,
  positionOf,
  rangeFrom,
} from '../../../../src/datanode/encoding/collections/member-walk.ts';
import {
  decodeMember,
  elementRange,
  encodeMemberKey,
} from '../../../../src/datanode/encoding/records/element-key.ts';
import { tags } from '../../../../src/datanode/encoding/records/tags.ts';
import type { Slices } from '../../../../src/datanode/encoding/steps/slices.ts';
import type { KeyRange, KeyValue } from '../../../../src/datanode/engine/engine.ts';

const place = { slot: 7, version: { index: 3, ordinal: 0 } };
const range = elementRange(tags.setMember, place);
const keyOf = (member: string) => encodeMemberKey(tags.setMember, place, Buffer.from(member));

function elements(count: number): KeyValue[] {
  return Array.from(
    { length: count },
    (_, at): KeyValue => [keyOf(`m${at}`), Buffer.from([0])],
  ).sort((a, b) => a[0].compare(b[0]));
}

/** What a walk reads, and how many pairs it took. */
function run<Result>(all: readonly KeyValue[], walk: Slices<Result>) {
  let pairs = 0;
  let ranges = 0;
  let step = walk.next();
  while (!step.done) {
    const slice = sliceOf(all, step.value);
    pairs += slice.length;
    ranges++;
    step = walk.next(slice);
  }
  return { result: step.value, pairs, ranges };
}

function sliceOf(all: readonly KeyValue[], { gte, lt, limit }: KeyRange): readonly KeyValue[] {
  let low = 0;
  for (let high = all.length; low < high; ) {
    const middle = (low + high) >>> 1;
    if (all[middle]![0].compare(gte) < 0) low = middle + 1;
    else high = middle;
  }
  return all.slice(low, low + Math.min(limit ?? 100, 100)).filter(([key]) => key.compare(lt) < 0);
}

const live = (size: number, isLive: Members['isLive'] = () => true): Members => ({
  range,
  size,
  isLive,
});
const draw = (seed: string) => {
  const random = seededRandom(seed);
  return () => random.float();
};
const names = (pairs: Iterable<KeyValue>) =>
  Array.from(pairs, ([key]) => decodeMember(key).toString());

test('positions order elements as their keys do, and a range from one begins there', () => {
  const all = elements(3_000);
  const positions = all.map(([key]) => positionOf(key));
  expect(positions).toEqual([...positions].sort((a, b) => a - b));
  expect(positions.every((at) => Number.isSafeInteger(at) && at >= 0 && at < POSITION_END)).toBe(
    true,
  );
  for (const [at, position] of positions.entries()) {
    const first = sliceOf(all, { ...rangeFrom(range, position), limit: 1 })[0]!;
    expect(positionOf(first[0])).toBe(position);
    expect(first[0].compare(all[at]![0])).toBeLessThanOrEqual(0);
  }
});

test.each([1, 2, 100, 128, 129, 1_000])('one of %i elements, every one within reach', (size) => {
  const all = elements(size);
  const random = draw('one');
  const seen = new Set<string>();
  for (let turn = 0; turn < size * 20; turn++) {
    const { result, pairs } = run(all, pickOne(live(size), random));
    seen.add(names([result!])[0]!);
    expect(pairs).toBeLessThanOrEqual(128);
  }
  expect(seen.size).toBeGreaterThan(size * 0.99 - 1);
});

test('elements that are not live are never picked', () => {
  for (const size of [60, 5_000]) {
    const all = elements(size);
    const isLive = ([key]: KeyValue) => decodeMember(key).toString() === 'm7';
    const members = live(1, isLive);
    expect(names([run(all, pickOne({ ...members, size }, draw('x'))).result!])).toEqual(['m7']);
    expect(names(run(all, pickDistinct(members, 3, draw('x'))).result)).toEqual(['m7']);
    expect(names(run(all, pickWithRepeats(members, 2, draw('x'))).result)).toEqual(['m7', 'm7']);
    const none = live(0, () => false);
    expect(run(all, pickOne({ ...none, size }, draw('x'))).result).toBeUndefined();
    expect(run(all, pickDistinct(none, 3, draw('x'))).result.length).toBe(0);
    expect(run(all, pickWithRepeats(none, 3, draw('x'))).result.length).toBe(0);
  }
});

test.each([
  [10, 3],
  [10, 10],
  [10, 11],
  [1_000, 5],
  [1_000, 999],
  [20_000, 100],
])('of %i elements %i different ones', (size, count) => {
  const all = elements(size);
  const { result } = run(all, pickDistinct(live(size), count, draw('distinct')));
  expect(new Set(names(result)).size).toBe(Math.min(size, count));
  expect(result.length).toBe(Math.min(size, count));
});

test('a few of many are found without a walk over all', () => {
  const all = elements(20_000);
  expect(run(all, pickDistinct(live(20_000), 20, draw('few'))).pairs).toBeLessThan(1_500);
  expect(run(all, pickWithRepeats(live(20_000), 20, draw('few'))).pairs).toBe(640);
});

test('different ones are found where all lie close together', () => {
  const all = elements(2_000);
  // every random place is behind the last element: the walk goes around to the first ones
  const { result } = run(
    all,
    pickDistinct(live(2_000), 50, () => 0.999_999_999),
  );
  expect(new Set(names(result)).size).toBe(50);
});

test('each of several is as likely as the others', () => {
  const all = elements(10);
  const counts = new Map<string, number>();
  const random = draw('fair');
  for (let turn = 0; turn < 2_000; turn++) {
    const { result } = run(all, pickDistinct(live(10), 3, random));
    const repeated = run(all, pickWithRepeats(live(10), 2, random)).result;
    for (const name of names([...result, ...repeated])) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  // 2000 × 5 picks of 10: 1000 each, give or take
  expect(Math.min(...counts.values())).toBeGreaterThan(850);
  expect(Math.max(...counts.values())).toBeLessThan(1_150);
});

test.each([
  ['all', 2_000],
  ['a large part', 1_500],
])('elements that a walk keeps are no pieces of memory of their own: %s', (_name, count) => {
  const alone = (bytes: Buffer) => {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    copy.set(bytes);
    return copy;
  };
  const given = elements(2_000).map(([key, value]): KeyValue => [alone(key), alone(value)]);
  const members: Members = { range, size: given.length, isLive: () => true };
  const { result } = run(given, pickDistinct(members, count, seededRandom('s').float));
  expect(result.length).toBe(count);
  const memories = new Set([...result].flat().map(({ buffer }) => buffer));
  expect(memories.size).toBeLessThan(count / 5);
});
