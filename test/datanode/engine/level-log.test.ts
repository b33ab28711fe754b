import { expect, test } from 'vitest';
import type { DiskFile } from '../../../src/common/disk.ts';
import { seededRandom } from '../../../src/common/random.ts';
import { type LogEnd, scanLog } from '../../../src/datanode/engine/level-log.ts';
import { encodeLog } from '../../sim/level-format.ts';
import { flipBit } from './level-directory.ts';

/** A file of bytes; only what the scanner needs works. */
function fileOver(bytes: Buffer): DiskFile {
  const no = () => Promise.reject(new Error('read only'));
  return {
    path: 'memory',
    size: async () => bytes.length,
    pread: async (offset, length) => bytes.subarray(offset, offset + length),
    preadSync: (offset, length) => bytes.subarray(offset, offset + length),
    pwrite: no,
    pwriteSynced: no,
    fdatasync: no,
    truncate: no,
    close: async () => {},
  };
}

async function scan(bytes: Buffer): Promise<{ records: Buffer[]; end: LogEnd }> {
  const records: Buffer[] = [];
  const end = await scanLog(fileOver(bytes), Number.MAX_SAFE_INTEGER, (record) => {
    records.push(record.head);
    expect(record.length).toBe(record.head.length);
    return undefined;
  });
  return { records, end };
}

const random = seededRandom('level-log');

/** Records of sizes around the block's edges, and small ones. */
function someRecords(): Buffer[] {
  const sizes = [0, 1, 12, 32_761, 32_760, 32_754, 65_000, 200_000, 5];
  for (let i = 0; i < 20; i++) sizes.push(random.below(3_000));
  return sizes.map((size) => Buffer.alloc(size, random.below(255) + 1));
}

test('records of every size come back, also across blocks', async () => {
  for (let round = 0; round < 20; round++) {
    const records = someRecords().sort(() => random.float() - 0.5);
    const { records: read, end } = await scan(encodeLog(records));
    expect(end).toEqual({ kind: 'clean' });
    expect(Buffer.concat(read).equals(Buffer.concat(records))).toBe(true);
    expect(read.map((record) => record.length)).toEqual(records.map((record) => record.length));
  }
});

test('only the head that was asked for is kept', async () => {
  const heads: string[] = [];
  const records = [Buffer.alloc(32_750, 1), Buffer.from('0123456789abcdef')];
  await scanLog(fileOver(encodeLog(records)), 12, (record) => {
    heads.push(`${record.offset} ${record.length} ${record.head.length}`);
    return undefined;
  });
  // 11 bytes were left in the first block: the second record's head is in two fragments
  expect(heads).toEqual(['0 32750 12', '32757 16 12']);
});

test('a log cut short ends unfinished at its last whole record', async () => {
  const records = [Buffer.alloc(50, 1), Buffer.alloc(40_000, 2), Buffer.alloc(60, 3)];
  const bytes = encodeLog(records);
  const ends = [57, 57 + 40_000 + 14, bytes.length];
  expect(ends[2]).toBe(ends[1]! + 67);
  for (const length of [1, 30, 56, 60, 32_768, 40_000, ends[1]! + 3, ends[1]! + 30]) {
    const { records: read, end } = await scan(bytes.subarray(0, length));
    const whole = ends.filter((at) => at <= length).length;
    expect(read).toHaveLength(whole);
    expect(end).toMatchObject({ kind: 'unfinished', offset: whole === 0 ? 0 : ends[whole - 1] });
  }
});

test('a flipped length bit in the last block is damage, not an unfinished record', async () => {
  const bytes = encodeLog([Buffer.alloc(50, 1), Buffer.alloc(60, 2), Buffer.alloc(70, 3)]);
  for (const [start, bits] of [
    [57, 16],
    [57 + 67, 16],
  ] as const) {
    for (let bit = 0; bit < bits; bit++) {
      const { records, end } = await scan(flipBit(bytes, (start + 4) * 8 + bit));
      expect(end).toMatchObject({ kind: 'damaged', offset: start });
      expect(records).toHaveLength(start === 57 ? 1 : 2);
    }
  }
});

test('a record refused by the reader is damage where it begins', async () => {
  const bytes = encodeLog([Buffer.alloc(50, 1), Buffer.alloc(60, 2)]);
  const end = await scanLog(fileOver(bytes), 1, (record) =>
    record.head[0] === 2 ? 'unwelcome' : undefined,
  );
  expect(end).toEqual({ kind: 'damaged', offset: 57, what: 'unwelcome' });
});
