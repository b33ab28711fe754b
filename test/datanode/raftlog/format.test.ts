import { describe, expect, test } from 'vitest';
import { crc32 } from '../../../src/common/checksum.ts';
import {
  BATCH_HEADER_BYTES,
  CHECKPOINT_BYTES,
  COMPACT_BYTES,
  decodeBatchHeader,
  decodeEntry,
  decodeRecords,
  ENTRY_HEADER_BYTES,
  type EntryRecord,
  encodeBatchHeader,
  encodeEntry,
  encodeRecord,
  endEntry,
  entryHeadCrc,
  HARD_STATE_BYTES,
  type LogRecord,
  REPLICA_BYTES,
  RESET_BYTES,
  TOMBSTONE_BYTES,
  TRUNCATE_BYTES,
} from '../../../src/datanode/raftlog/format.ts';

type Plain = Exclude<LogRecord, EntryRecord>;

/** Frozen: a change of any of these bytes is a new format version. */
const plainVectors: readonly (readonly [string, number, Plain, string])[] = [
  [
    'hard state',
    HARD_STATE_BYTES,
    { kind: 'hardState', replica: 7, hardState: { term: 3, vote: 9, commit: 0x1_0000_0002 } },
    '02 0000000000000007 0000000000000003 0000000000000009 0000000100000002',
  ],
  [
    'reset',
    RESET_BYTES,
    { kind: 'reset', replica: 7, baseIndex: 10, baseTerm: 2, generation: 4 },
    '03 0000000000000007 000000000000000a 0000000000000002 0000000000000004',
  ],
  [
    'compact',
    COMPACT_BYTES,
    { kind: 'compact', replica: 7, baseIndex: 10, baseTerm: 2 },
    '04 0000000000000007 000000000000000a 0000000000000002',
  ],
  [
    'truncate',
    TRUNCATE_BYTES,
    { kind: 'truncate', replica: 7, lastIndex: 12 },
    '05 0000000000000007 000000000000000c',
  ],
  ['tombstone', TOMBSTONE_BYTES, { kind: 'tombstone', replica: 255 }, '06 00000000000000ff'],
  [
    'replica of a checkpoint',
    REPLICA_BYTES,
    {
      kind: 'replica',
      checkpoint: {
        replica: 7,
        hardState: { term: 3, vote: 9, commit: 12 },
        baseIndex: 10,
        baseTerm: 2,
        firstIndex: 11,
        lastIndex: 15,
        generation: 4,
      },
    },
    '07 0000000000000007 0000000000000003 0000000000000009 000000000000000c ' +
      '000000000000000a 0000000000000002 000000000000000b 000000000000000f 0000000000000004',
  ],
  [
    'head of a checkpoint',
    CHECKPOINT_BYTES,
    { kind: 'checkpoint', replicas: 2, tombstones: 1 },
    '09 00000002 00000001',
  ],
];

const hexOf = (text: string) => text.replaceAll(' ', '');

describe('records', () => {
  test.each(plainVectors)('%s has its frozen bytes', (_, size, record, hex) => {
    const bytes = Buffer.alloc(128);
    const end = encodeRecord(bytes, 0, record);
    expect(end).toBe(size);
    expect(bytes.subarray(0, end).toString('hex')).toBe(hexOf(hex));
    const decoded: LogRecord[] = [];
    const visit = (one: LogRecord) => decoded.push(one);
    expect(decodeRecords(bytes, 0, end, visit)).toBe(end);
    expect(decoded).toEqual([record]);
  });

  test('an entry has its frozen bytes, with a checksum that starts from the segment', () => {
    const entry = { term: 3, index: 12, kind: 'confChangeV2', data: Buffer.from('abc') } as const;
    const bytes = Buffer.alloc(64);
    const end = encodeEntry(bytes, 0, 'entry', 5, 7, entry);
    const head = '01 0000000000000007 000000000000000c 0000000000000003 02 00000003';
    expect(end).toBe(ENTRY_HEADER_BYTES + 3);
    expect(bytes.subarray(0, 30).toString('hex')).toBe(hexOf(head));
    const covered = Buffer.concat([Buffer.from(hexOf(head), 'hex'), Buffer.from('abc')]);
    expect(bytes.readUInt32BE(30)).toBe(crc32(covered, 5));
    expect(bytes.subarray(0, end).toString('hex')).toBe(hexOf(`${head} 5986e13e 616263`));
    expect(decodeEntry(bytes, 0, 5)).toEqual({ kind: 'entry', replica: 7, entry });
    expect(decodeEntry(bytes, 0, 6)).toBeUndefined();
  });

  test('a moved entry differs by its kind only', () => {
    const entry = { term: 1, index: 1, kind: 'normal', data: Buffer.alloc(0) } as const;
    const bytes = Buffer.alloc(64);
    expect(encodeEntry(bytes, 0, 'moved', 1, 7, entry)).toBe(ENTRY_HEADER_BYTES);
    expect(bytes.readUInt8(0)).toBe(8);
    expect(decodeEntry(bytes, 0, 1)).toEqual({ kind: 'moved', replica: 7, entry });
  });

  test('any flipped bit of an entry is found', () => {
    const entry = { term: 3, index: 12, kind: 'normal', data: Buffer.from('abcdef') } as const;
    const bytes = Buffer.alloc(ENTRY_HEADER_BYTES + 6);
    encodeEntry(bytes, 0, 'entry', 5, 7, entry);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(decodeEntry(flipped, 0, 5)).toBeUndefined();
    }
  });

  test('decoding stops at a record that is not sound and says where', () => {
    const bytes = Buffer.alloc(64);
    const end = encodeRecord(bytes, 0, { kind: 'tombstone', replica: 1 });
    bytes.writeUInt8(99, end);
    const visit = () => {};
    expect(decodeRecords(bytes, 0, 64, visit)).toBe(end);
    expect(decodeRecords(bytes, 0, end - 1, visit)).toBe(0);
  });
});

test.each([...plainVectors.filter(([name]) => name !== 'checkpoint')])(
  'a number of 2^53 or more makes a %s no record, whatever its checksum',
  (_name, size, record) => {
    if (record.kind === 'checkpoint') return;
    for (let at = 1; at < size; at += 8) {
      const bytes = Buffer.alloc(size);
      encodeRecord(bytes, 0, record);
      bytes.writeUInt32BE(0x20_0000, at);
      expect(decodeRecords(bytes, 0, size, () => {})).toBe(0);
      bytes.writeUInt32BE(0x1f_ffff, at);
      expect(decodeRecords(bytes, 0, size, () => {})).toBe(size);
    }
  },
);

test('a number of 2^53 or more makes an entry no record', () => {
  const entry = { term: 3, index: 12, kind: 'normal', data: Buffer.from('ab') } as const;
  for (const at of [1, 9, 17]) {
    const bytes = Buffer.alloc(ENTRY_HEADER_BYTES + 2);
    encodeEntry(bytes, 0, 'entry', 5, 7, entry);
    bytes.writeUInt32BE(0x20_0000, at);
    expect(decodeRecords(bytes, 0, bytes.length, () => {})).toBe(0);
    endEntry(bytes, 0, crc32(entry.data, entryHeadCrc(bytes, 0, 5)));
    expect(decodeEntry(bytes, 0, 5)).toBeUndefined();
  }
});

describe('batches', () => {
  const header = { flags: 1, segment: 5, seq: 0x1_0000_0001, durable: 0x1_0000_0000, offset: 1024 };

  function sampleBatch(): Buffer {
    const bytes = Buffer.alloc(512);
    const end = encodeRecord(bytes, BATCH_HEADER_BYTES, { kind: 'tombstone', replica: 255 });
    const payloadCrc = crc32(bytes.subarray(BATCH_HEADER_BYTES, end));
    const payloadBytes = end - BATCH_HEADER_BYTES;
    encodeBatchHeader(bytes, { ...header, payloadBytes, payloadCrc });
    return bytes;
  }

  test('a header has its frozen bytes', () => {
    const bytes = sampleBatch();
    expect(bytes.subarray(0, 40).toString('hex')).toBe(
      hexOf(
        '4b564c42 01 01 0000 0000000000000005 0000000100000001 0000000100000000 00000400 00000009',
      ),
    );
    expect(bytes.readUInt32BE(40)).toBe(crc32(bytes.subarray(48, 57)));
    expect(bytes.readUInt32BE(44)).toBe(crc32(bytes.subarray(0, 44)));
    const payloadCrc = bytes.readUInt32BE(40);
    expect(decodeBatchHeader(bytes, 0)).toEqual({ ...header, payloadBytes: 9, payloadCrc });
  });

  test('any flipped bit of a header is found', () => {
    const bytes = sampleBatch();
    for (let bit = 0; bit < BATCH_HEADER_BYTES * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(decodeBatchHeader(flipped, 0)).toBe('damaged');
    }
  });

  test('a number of 2^53 or more is damage, whatever its checksum', () => {
    for (const at of [8, 16, 24]) {
      const bytes = sampleBatch();
      bytes.writeUInt32BE(0x20_0000, at);
      bytes.writeUInt32BE(crc32(bytes.subarray(0, 44)), 44);
      expect(decodeBatchHeader(bytes, 0)).toBe('damaged');
    }
  });

  test('another version is told apart from damage', () => {
    const bytes = sampleBatch();
    bytes.writeUInt8(2, 4);
    expect(decodeBatchHeader(bytes, 0)).toBe('damaged');
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 44)), 44);
    expect(decodeBatchHeader(bytes, 0)).toEqual({ unknownVersion: 2 });
  });

  test('zeros and short bytes are no batch', () => {
    expect(decodeBatchHeader(Buffer.alloc(512), 0)).toBe('damaged');
    expect(decodeBatchHeader(sampleBatch().subarray(0, 47), 0)).toBe('damaged');
  });
});
