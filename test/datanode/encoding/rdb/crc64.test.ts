import { expect, test } from 'vitest';
import { crc64 } from './at-once.ts';

test('is Jones’s CRC-64', () => {
  expect(crc64(Buffer.from('123456789')).readBigUInt64LE()).toBe(0xe9c6d914c4b8d9can);
  expect(crc64(Buffer.alloc(0)).readBigUInt64LE()).toBe(0n);
});
