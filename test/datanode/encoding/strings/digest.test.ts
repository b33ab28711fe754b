import { expect, test } from 'vitest';
import { digestOf } from '../../../../src/datanode/encoding/strings/digest.ts';

/** By length, as another implementation of XXH3 has them: each is of a way of its own to do it. */
const digests: readonly (readonly [length: number, digest: string])[] = [
  [0, '2d06800538d394c2'],
  [1, '13e608bc156defed'],
  [3, 'a9088dda485b481c'],
  [4, '6d9253b16c8b1ed3'],
  [8, '60539db630471163'],
  [9, 'feff668361d723a8'],
  [16, 'b8c859b0f030b585'],
  [17, '714a04408e79b80f'],
  [128, '67425a03650261bf'],
  [129, 'c664bf3311c6abc4'],
  [240, '64556dc6b462a6cf'],
  [241, '8beadd3a8874fe17'],
  [1024, '9b81661c641c72b1'],
  [1025, '806c2072ed713576'],
  [5000, '799aaddd7339581d'],
];

test.each(digests)('of %s bytes', (length, digest) => {
  const bytes = Buffer.from(Array.from({ length }, (_, at) => (at * 7 + 3) & 255));
  expect(digestOf(bytes)).toBe(digest);
  // a view into a larger one is read where it lies
  const around = Buffer.concat([Buffer.alloc(5, 1), bytes, Buffer.alloc(5, 1)]);
  expect(digestOf(around.subarray(5, 5 + length))).toBe(digest);
});
