import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { crc32 } from '../../src/common/checksum.ts';

it('is zlib’s CRC-32 of any length, continued from any other', () => {
  expect(crc32(Buffer.from('123456789'))).toBe(0xcbf43926);
  const bytes = fc.uint8Array({ maxLength: 120 });
  fc.assert(
    fc.property(bytes, bytes, (first, second) => {
      expect(crc32(first)).toBe(zlibCrc32(first));
      expect(crc32(second, crc32(first))).toBe(zlibCrc32(Buffer.concat([first, second])));
    }),
    { numRuns: 2_000 },
  );
});
