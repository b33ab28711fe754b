import { expect, test } from 'vitest';
import { seededRandom } from '../../../src/common/random.ts';
import { crc32c, maskCrc, unmaskCrc } from '../../../src/datanode/engine/crc32c.ts';

// RFC 3720, appendix B.4
const ascending = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
const scsiRead = Buffer.from(
  '01c00000000000000000000000000000140000000000040000000014000000182800000000000000' +
    '0200000000000000',
  'hex',
);
const vectors: readonly [name: string, bytes: Buffer, crc: number][] = [
  ['nothing', Buffer.alloc(0), 0],
  ['the check string', Buffer.from('123456789'), 0xe3069283],
  ['32 zeros', Buffer.alloc(32), 0x8a9136aa],
  ['32 ones', Buffer.alloc(32, 0xff), 0x62a8ab43],
  ['32 ascending bytes', ascending, 0x46dd794e],
  ['32 descending bytes', Buffer.from(ascending).reverse(), 0x113fdb5c],
  ['an iSCSI read command', scsiRead, 0xd9963a56],
];

test.each(vectors)('the CRC-32C of %s is the standard one', (_name, bytes, crc) => {
  expect(crc32c(bytes)).toBe(crc);
});

test('a CRC may be taken of a part, and in parts', () => {
  const random = seededRandom(5);
  const bytes = Buffer.from(Array.from({ length: 300 }, () => random.below(256)));
  for (let round = 0; round < 200; round++) {
    const start = random.below(150);
    const middle = start + random.below(60);
    const end = middle + random.below(60);
    const whole = crc32c(Buffer.from(bytes.subarray(start, end)));
    expect(crc32c(bytes, start, end)).toBe(whole);
    expect(crc32c(bytes, middle, end, crc32c(bytes, start, middle))).toBe(whole);
  }
});

test('masking is undone by unmasking, and changes every CRC', () => {
  const random = seededRandom(6);
  for (let round = 0; round < 1_000; round++) {
    const crc = random.u32();
    expect(unmaskCrc(maskCrc(crc))).toBe(crc);
    expect(maskCrc(crc)).not.toBe(crc);
  }
  expect(maskCrc(0)).toBe(0xa282ead8);
});
