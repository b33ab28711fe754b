import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { crc32, crc32Within } from '../../src/common/checksum.ts';

it('is zlib’s CRC-32 of any length, continued from any other', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  const bytes = fc.uint8Array({ maxLength: 400 });
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      expect(crc32(first)).toBe(zlibCrc32(first));
      expect(crc32(second, crc32(first))).toBe(zlibCrc32(Buffer.concat([first, second])));
    }),
    { numRuns: 2_000 },
  );
});

it('is the same of bytes within others', () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  fc.assert(
    fc.property(bytes, bytes, bytes, (before, within, after) => {
      const all = Buffer.concat([before, within, after]);
      const to = before.length + within.length;
      expect(crc32Within(all, before.length, to, 7)).toBe(zlibCrc32(within, 7));
    }),
    { numRuns: 500 },
  );
});
