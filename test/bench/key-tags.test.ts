import { expect, test } from 'vitest';
import { tagsOf } from '../../bench/key-tags.ts';
import { slotOfKey } from '../../src/common/hash.ts';

test('a tag puts the keys that have it into its partition', () => {
  const wanted = [0, 7, 999];
  const tags = tagsOf(wanted, 1_000);
  const partitions = tags.map((tag) => {
    return Math.floor((slotOfKey(Buffer.from(`{${tag}}:key`)) * 1_000) / 16_384);
  });
  expect(partitions).toEqual(wanted);
});
