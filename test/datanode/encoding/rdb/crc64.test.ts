import { expect, test } from 'vitest';
import { RunningCrc64 } from '../../../../src/datanode/encoding/rdb/crc64.ts';
import { crc64 } from './at-once.ts';

test('is Jones’s CRC-64', () => {
  expect(crc64(Buffer.from('123456789')).readBigUInt64LE()).toBe(0xe9c6d914c4b8d9can);
  expect(crc64(Buffer.alloc(0)).readBigUInt64LE()).toBe(0n);
});

test('of bytes in parts it is that of all', () => {
  const bytes = Buffer.from('a file that comes in parts');
  for (const cut of [0, 1, 7, bytes.length]) {
    const running = new RunningCrc64();
    running.update(bytes.subarray(0, cut));
    running.update(bytes.subarray(cut));
    expect(running.digest()).toEqual(crc64(bytes));
  }
});
