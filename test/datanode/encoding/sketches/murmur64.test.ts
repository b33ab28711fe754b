import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sketchHash } from '../../../../src/datanode/encoding/sketches/murmur64.ts';

const M = 0xc6a4a7935bd1e995n;
const wrap = (value: bigint) => BigInt.asUintN(64, value);
const fold = (value: bigint) => value ^ (value >> 47n);

/** The definition, in bigints. */
function murmur64a(bytes: Buffer): bigint {
  let hash = 0xadc83b19n ^ wrap(BigInt(bytes.length) * M);
  const whole = bytes.length - (bytes.length % 8);
  for (let at = 0; at < whole; at += 8) {
    const part = wrap(fold(wrap(bytes.readBigUInt64LE(at) * M)) * M);
    hash = wrap((hash ^ part) * M);
  }
  if (whole < bytes.length) {
    const rest = Buffer.concat([bytes.subarray(whole), Buffer.alloc(8)]);
    hash = wrap((hash ^ rest.readBigUInt64LE(0)) * M);
  }
  return fold(wrap(fold(hash) * M));
}

test('is MurmurHash64A', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 70 }), (list) => {
      const bytes = Buffer.from(list);
      const [high, low] = sketchHash(bytes);
      expect((BigInt(high) << 32n) | BigInt(low)).toBe(murmur64a(bytes));
    }),
    { numRuns: 2_000 },
  );
});
