import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { seededRandom } from '../../../../src/common/random.ts';
import {
  encodeKey,
  recordHash,
  recordSlot,
} from '../../../../src/datanode/encoding/records/key.ts';
import {
  FilterMemory,
  KeyFilter,
} from '../../../../src/datanode/partition/remembering/key-filter.ts';

const keyOf = (text: string) => encodeKey(Buffer.from(text));
const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => keyOf(`${name}:${at}`));

/** The share of `keys`, none of which was added, that the filter may hold. */
function wrong(filter: KeyFilter, keys: readonly Buffer[]): number {
  return keys.filter((key) => filter.mayHold(key)).length / keys.length;
}

test('slot and hash are read of a record’s key', () => {
  const key = keyOf('some key');
  expect(recordSlot(key)).toBe(key.readUInt16BE(1));
  expect(recordHash(key)).toBe(key.readInt32BE(3));
});

describe('a filter', () => {
  test('that is empty holds nothing, and takes no memory', () => {
    const memory = new FilterMemory();
    const filter = new KeyFilter(memory);
    expect(wrong(filter, numbered('k', 1_000))).toBe(0);
    expect([filter.count, filter.bytes, memory.bytes]).toEqual([0, 0, 0]);
  });

  test.each([
    ['numbered', 'key', 10],
    ['numbered', 'key', 3_000],
    ['numbered', 'key', 120_000],
    ['of one slot', '{tag}', 60_000],
  ])('never calls a key absent that was added: keys %s, %s, %i', (_how, name, count) => {
    const filter = new KeyFilter(new FilterMemory());
    const keys = numbered(name, count);
    for (const [at, key] of keys.entries()) {
      expect(filter.add(key)).not.toBe('full');
      if (at % 97 === 0) expect(filter.mayHold(keys[at >> 1]!)).toBe(true);
    }
    expect(keys.every((key) => filter.mayHold(key))).toBe(true);
    expect(wrong(filter, numbered(`${name} absent`, 20_000))).toBeLessThan(0.02);
    expect(filter.count).toBeLessThanOrEqual(count);
    expect(filter.count).toBeGreaterThan(count * 0.98);
  });

  test('says of no key that was added before that it is new', () => {
    const filter = new KeyFilter(new FilterMemory());
    const keys = numbered('once', 30_000);
    const first = keys.map((key) => filter.add(key));
    expect(first.filter((added) => added === 'new')).toHaveLength(filter.count);
    expect(new Set(keys.map((key) => filter.add(key)))).toEqual(new Set(['held']));
  });

  test('holds whatever bytes keys are of', () => {
    const random = seededRandom('key filter');
    const filter = new KeyFilter(new FilterMemory());
    const keys = Array.from({ length: 20_000 }, () => {
      const key = Buffer.alloc(1 + random.below(12));
      for (let at = 0; at < key.length; at++) key[at] = random.below(256);
      return encodeKey(key);
    });
    // what no codec makes is no key, and still held once it was added
    keys.push(Buffer.from([0x10]), Buffer.from([0x10, 1, 2]));
    for (const key of keys) filter.add(key);
    expect(keys.every((key) => filter.mayHold(key))).toBe(true);
  });

  test('grows by few segments, and takes two bytes a key at most once it is large', () => {
    const filter = new KeyFilter(new FilterMemory());
    let segments = 0;
    let bytes = 0;
    for (const key of numbered('grows', 200_000)) {
      filter.add(key);
      if (filter.bytes === bytes) continue;
      segments++;
      bytes = filter.bytes;
    }
    expect(segments).toBe(4);
    expect(bytes / 200_000).toBeLessThan(2);
  });

  test('takes a key that is there already without growing', () => {
    const filter = new KeyFilter(new FilterMemory());
    const keys = numbered('same', 2_000);
    for (let round = 0; round < 50; round++) for (const key of keys) filter.add(key);
    expect(filter.bytes).toBe(4_096);
  });

  test('says when there is no memory, and gives it back', () => {
    const memory = new FilterMemory(21_000);
    const [one, other] = [new KeyFilter(memory), new KeyFilter(memory)];
    const taken = numbered('much', 100_000).findIndex((key) => one.add(key) === 'full');
    expect(taken).toBeGreaterThan(10_000);
    expect(memory.bytes).toBe(one.bytes);
    expect(other.add(keyOf('one'))).toBe('full');
    one.free();
    expect([memory.bytes, one.bytes, one.count]).toEqual([0, 0, 0]);
    expect(one.mayHold(keyOf('much:1'))).toBe(false);
    expect(other.add(keyOf('one'))).toBe('new');
    expect(other.add(keyOf('one'))).toBe('held');
  });
});

test('engines that fill alike use most of the memory before one finds none', () => {
  const bytesMax = 5 * 1024 * 1024;
  const memory = new FilterMemory(bytesMax);
  const filters = Array.from({ length: 3 }, () => new KeyFilter(memory));
  let added = 0;
  while (filters.every((filter) => filter.add(keyOf(`key:${added}`)) !== 'full')) added++;
  expect((filters.length * added) / (bytesMax / 64)).toBeGreaterThan(0.85 * 40);
  expect(filters.every((filter) => filter.mayHold(keyOf(`key:${added >> 1}`)))).toBe(true);
});

test('a node of eight engines has room for the filters of sixteen million keys', () => {
  const filter = new KeyFilter(new FilterMemory());
  let added = 0;
  for (let at = 0; at < 2_000_000; at++) if (filter.add(keyOf(`key:${at}`)) !== 'full') added++;
  expect(added).toBe(2_000_000);
  expect(8 * filter.bytes).toBeLessThanOrEqual(limits.keyFiltersBytes);
});

test('keys that share slot and hash are one to it, and cost no more', () => {
  const filter = new KeyFilter(new FilterMemory());
  const twins = Array.from({ length: 10_000 }, (_, at) =>
    Buffer.concat([keyOf('chosen').subarray(0, 7), Buffer.from(`${at}`)]),
  );
  for (const key of twins) filter.add(key);
  expect([filter.count, filter.bytes]).toEqual([1, 4_096]);
});
