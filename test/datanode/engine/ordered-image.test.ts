import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import type { BatchOperation } from '../../../src/datanode/engine/engine.ts';
import { OrderedImage } from '../../../src/datanode/engine/ordered-image.ts';
import { del, key, put } from '../../conformance/engine.ts';

const all = { gte: Buffer.alloc(0), lt: Buffer.from([255, 255]) };

test('an image never changes, whatever is applied to it', () => {
  const random = seededRandom(11);
  const images: { image: OrderedImage; model: Map<string, string> }[] = [];
  let image = OrderedImage.empty;
  let model = new Map<string, string>();
  for (let round = 0; round < 80; round++) {
    const operations: BatchOperation[] = [];
    model = new Map(model);
    for (let i = 0; i < 50; i++) {
      const k = `k${random.below(900)}`;
      if (random.below(round < 50 ? 4 : 2) === 0) {
        operations.push(del(k));
        model.delete(k);
      } else {
        operations.push(put(k, String(round)));
        model.set(k, String(round));
      }
    }
    image = image.apply(operations);
    images.push({ image, model });
  }
  for (const past of images) {
    const pairs = past.image.read(all, 10_000, Number.POSITIVE_INFINITY);
    const expected = [...past.model].sort(([a], [b]) => (a < b ? -1 : 1));
    expect(pairs.map(([k, v]) => [String(k), String(v)])).toEqual(expected);
    for (const [k, v] of expected.slice(0, 50)) {
      expect(String(past.image.get(key(k)))).toBe(v);
    }
  }
});

test('all keys can go and come back', () => {
  const keys = Array.from({ length: 1_000 }, (_, i) => `k${String(i).padStart(4, '0')}`);
  const full = OrderedImage.empty.apply(keys.map((k) => put(k, k)));
  const none = full.apply(keys.map((k) => del(k)));
  expect(none.read(all, 10, 1_000)).toEqual([]);
  expect(none.get(key('k0001'))).toBeUndefined();
  expect(none.apply([put('x', '1')]).read({ ...all, reverse: true }, 10, 1_000)).toHaveLength(1);
  const back = full.read({ ...all, reverse: true }, 2_000, Number.POSITIVE_INFINITY);
  expect(back.map(([k]) => String(k))).toEqual([...keys].reverse());
});

test('a read stops at its count and soon after its bytes', () => {
  const image = OrderedImage.empty.apply(
    Array.from({ length: 300 }, (_, i) => put(`k${1000 + i}`, Buffer.alloc(95))),
  );
  expect(image.read(all, 7, 1_000_000)).toHaveLength(7);
  expect(image.read(all, 300, 1_000)).toHaveLength(11);
});
