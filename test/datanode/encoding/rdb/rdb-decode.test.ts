import { describe, expect, test } from 'vitest';
import { limits } from '../../../../src/common/limits.ts';
import { rdbTypes } from '../../../../src/datanode/encoding/rdb/rdb-decode.ts';
import { RdbBoundError, RdbError } from '../../../../src/datanode/encoding/rdb/rdb-reader.ts';
import { decodeRdbValue } from './at-once.ts';
import {
  compressedRun,
  intset,
  length,
  listpack,
  text,
  time,
  value,
  ziplist,
  zipmap,
} from './rdb-forms.ts';

/** Every width of numbers, and strings around every bound of a length. */
const numbers = [0, 1, 12, 13, 127, 128, -1, -128, -129, 4_095, -4_096, 4_096, 32_767, -32_768]
  .concat([32_768, 8_388_607, -8_388_608, 8_388_608, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, 2 ** 52])
  .map(String);
const strings = ['', 'a', 'x'.repeat(63), 'x'.repeat(64), 'y'.repeat(127), 'z'.repeat(253)]
  .concat(['x'.repeat(254), 'x'.repeat(4_095), 'x'.repeat(4_096), 'x'.repeat(16_384), '1.5'])
  .concat(['x'.repeat(16_380), 'x'.repeat(16_378), 'y'.repeat(300_000)]);
const items = [...numbers, ...strings];
const pairs = items.map((item, at) => [item, items[items.length - 1 - at]!] as const);

function shown(bytes: Buffer): unknown {
  const decoded = decodeRdbValue(bytes);
  const show = (part: Buffer | number) => (typeof part === 'number' ? part : part.toString());
  if (decoded.type === 'string') return decoded.bytes.toString();
  if (!('elements' in decoded)) throw new Error('others are shown by tests of their own');
  return [...decoded.elements].map((element) =>
    Buffer.isBuffer(element) ? show(element) : element.map(show),
  );
}

const listForms: readonly (readonly [string, Buffer])[] = [
  ['elements', value(rdbTypes.list, length(items.length), ...items.map(text))],
  ['a ziplist', value(rdbTypes.listZiplist, text(ziplist(items)))],
  [
    'ziplists',
    value(
      rdbTypes.listQuicklist,
      length(2),
      text(ziplist(items.slice(0, 7))),
      text(ziplist(items.slice(7))),
    ),
  ],
  [
    'listpacks and plain elements',
    value(
      rdbTypes.listQuicklist2,
      ...[length(3), length(2), text(listpack(items.slice(0, 20)))],
      ...[length(1), text(items[20]!), length(2), text(listpack(items.slice(21)))],
    ),
  ],
];

test.each(listForms)('a list of %s', (_name, bytes) => {
  expect(shown(bytes)).toEqual(items);
});

const hashForms: readonly (readonly [string, Buffer])[] = [
  ['fields', value(rdbTypes.hash, length(pairs.length), ...pairs.flat().map(text))],
  ['a zipmap', value(rdbTypes.hashZipmap, text(zipmap(pairs)))],
  ['a ziplist', value(rdbTypes.hashZiplist, text(ziplist(pairs.flat())))],
  ['a listpack', value(rdbTypes.hashListpack, text(listpack(pairs.flat())))],
];

test.each(hashForms)('a hash of %s', (_name, bytes) => {
  expect(shown(bytes)).toEqual(pairs.map(([field, content]) => [field, content, 0]));
});

describe('hashes whose fields have deadlines', () => {
  const DAY_MS = 86_400_000;
  const FIRST_MS = 1_700_000_000_000;
  const deadlines = [0, FIRST_MS, FIRST_MS + 5, FIRST_MS + 100 * DAY_MS, FIRST_MS + 0x3fff];
  const fields = deadlines.map((deadlineMs, at) => [`f${at}`, `${at}`, deadlineMs] as const);
  const after = (deadlineMs: number) => length(deadlineMs && deadlineMs - FIRST_MS + 1);
  const parts = (deadlineOf: (deadlineMs: number) => Buffer) =>
    fields.flatMap(([field, content, ms]) => [deadlineOf(ms), text(field), text(content)]);
  const packed = text(listpack(fields.flat().map(String)));
  const { hashMetadata, hashListpackEx, hashMetadataEarly, hashListpackExEarly } = rdbTypes;

  test.each([
    ['fields', value(hashMetadata, time(FIRST_MS), length(fields.length), ...parts(after))],
    ['a listpack', value(hashListpackEx, time(FIRST_MS), packed)],
    ['a listpack of which none has any left', value(hashListpackEx, time(0), packed)],
    ['fields, early', value(hashMetadataEarly, length(fields.length), ...parts(length))],
    ['a listpack, early', value(hashListpackExEarly, packed)],
  ])('of %s', (_name, bytes) => {
    expect(shown(bytes)).toEqual(fields);
    expect(decodeRdbValue(bytes)).toMatchObject({ mayExpire: true });
  });

  test('are written with lengths of 64 bits where they are that far', () => {
    const far = 2 ** 40 + 7;
    expect(length(far).toString('hex')).toBe('810000010000000007');
    const bytes = value(hashMetadata, time(1), length(1), length(far), text('f'), text('v'));
    expect(shown(bytes)).toEqual([['f', 'v', far]]);
  });
});

describe('sets', () => {
  test('of members and of a listpack', () => {
    expect(shown(value(rdbTypes.set, length(items.length), ...items.map(text)))).toEqual(items);
    expect(shown(value(rdbTypes.setListpack, text(listpack(items))))).toEqual(items);
  });

  test.each([2, 4, 8] as const)('of integers of %i bytes', (width) => {
    const top = 2n ** BigInt(width * 8 - 1);
    const members = [-top, -5n, 0n, 7n, top - 1n];
    const bytes = value(rdbTypes.setIntset, text(intset(members, width)));
    expect(shown(bytes)).toEqual(members.map(String));
  });
});

describe('sorted sets', () => {
  const scored = [
    ['a', 1.5],
    ['b', -0],
    ['c', Number.POSITIVE_INFINITY],
    ['d', Number.NEGATIVE_INFINITY],
    ['e', 1e300],
    ['12', -3],
  ] as const;
  const scoreTexts = ['1.5', '-0', 'inf', '-inf', '1e+300', '-3'];
  const flat = scored.flatMap(([member], at) => [member, scoreTexts[at]!]);

  test('with scores as doubles', () => {
    const parts = scored.flatMap(([member, score]) => {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(score);
      return [text(member), bytes];
    });
    expect(shown(value(rdbTypes.zset, length(scored.length), ...parts))).toEqual(scored);
  });

  test('with scores as text', () => {
    const special: Record<string, number> = { inf: 254, '-inf': 255 };
    const parts = scored.flatMap(([member], at) => {
      const score = scoreTexts[at]!;
      const known = special[score];
      return [text(member), known ? Buffer.from([known]) : text(score)];
    });
    expect(shown(value(rdbTypes.zsetText, length(scored.length), ...parts))).toEqual(scored);
  });

  test('of a ziplist and of a listpack', () => {
    expect(shown(value(rdbTypes.zsetZiplist, text(ziplist(flat))))).toEqual(scored);
    expect(shown(value(rdbTypes.zsetListpack, text(listpack(flat))))).toEqual(scored);
  });
});

describe('strings', () => {
  test('as integers', () => {
    expect(shown(Buffer.from([0, 0xc0, 0x80]))).toBe('-128');
    expect(shown(Buffer.from([0, 0xc1, 0x00, 0x80]))).toBe('-32768');
    expect(shown(Buffer.from([0, 0xc2, 0xff, 0xff, 0xff, 0x7f]))).toBe('2147483647');
  });

  test('compressed', () => {
    expect(shown(value(rdbTypes.string, compressedRun(0x61, 5_000)))).toBe('a'.repeat(5_000));
  });

  test('with a length of 64 bits', () => {
    const bytes = Buffer.from([0, 0x81, 0, 0, 0, 0, 0, 0, 0, 2, 0x68, 0x69]);
    expect(shown(bytes)).toBe('hi');
  });
});

describe('what is refused', () => {
  const WIDEST = Buffer.from('81ffffffffffffffff', 'hex');
  const nan = Buffer.alloc(8);
  nan.writeDoubleLE(Number.NaN);
  const long = ziplist(['a', 'b']);
  long[0]!++;
  const gap = listpack(['a', 'b']);
  gap[gap.length - 2]!++;
  const refused: readonly (readonly [string, Buffer])[] = [
    ['nothing', Buffer.alloc(0)],
    ['a stream', value(15, length(0))],
    ['an unknown type', value(99, text('a'))],
    ['bytes behind the value', value(0, text('a'), text('b'))],
    ['a string that is cut', value(0, Buffer.from([10, 1]))],
    ['an unknown string encoding', value(0, Buffer.from([0xc9]))],
    ['an encoding as a length', value(1, Buffer.from([0xc0]), text('a'))],
    ['an unknown length', value(1, Buffer.from([0x82]), text('a'))],
    ['an empty list', value(1, length(0))],
    ['an empty ziplist', value(rdbTypes.listZiplist, text(ziplist([])))],
    ['fewer elements than it says', value(1, length(3), text('a'), text('b'))],
    ['a member twice', value(rdbTypes.set, length(2), text('a'), text('a'))],
    ['a field twice', value(rdbTypes.hashListpack, text(listpack(['a', '1', 'a', '2'])))],
    ['a field without a value', value(rdbTypes.hashListpack, text(listpack(['a', '1', 'b'])))],
    ['a deadline no number holds', value(24, time(0), length(1), WIDEST, text('a'), text('b'))],
    ['a deadline beyond all', value(24, time(0), length(1), length(2 ** 49), text('a'), text('b'))],
    ['a field without a deadline', value(25, time(0), text(listpack(['a', '1', '0', 'b', '2'])))],
    ['a deadline as a word', value(25, time(0), text(listpack(['a', '1', 'x'])))],
    ['a deadline before all', value(25, time(0), text(listpack(['a', '1', '-5'])))],
    ['an earliest deadline that is cut', value(25, Buffer.alloc(7))],
    ['a score that is no number', value(rdbTypes.zset, length(1), text('a'), nan)],
    ['a score as a word', value(rdbTypes.zsetListpack, text(listpack(['a', 'one'])))],
    [
      'digits without an end',
      value(rdbTypes.zsetListpack, text(listpack(['a', '1'.repeat(9_999)]))),
    ],
    ['a ziplist of another length', value(rdbTypes.listZiplist, text(long))],
    ['a listpack entry of another length', value(rdbTypes.hashListpack, text(gap))],
    ['an unknown node', value(rdbTypes.listQuicklist2, length(1), length(3), text('a'))],
    ['integers of 3 bytes', value(rdbTypes.setIntset, text(Buffer.from([3, 0, 0, 0, 0, 0, 0, 0])))],
    [
      'integers out of order',
      value(rdbTypes.setIntset, text(Buffer.concat([intset([2n], 2), Buffer.from([1, 0])]))),
    ],
  ];
  test.each(refused)('%s', (_name, bytes) => {
    expect(() => decodeRdbValue(bytes)).toThrow(RdbError);
  });

  test('more bytes than one request may have', () => {
    const wanted = limits.requestBytesMax + 1;
    const compressed = Buffer.alloc(Math.ceil(wanted / 88));
    const bomb = value(0, Buffer.from([0xc3]), length(compressed.length), length(wanted));
    expect(() => decodeRdbValue(Buffer.concat([bomb, compressed]))).toThrow(RdbBoundError);
  });

  test('as broken, more bytes than what is compressed can stand for', () => {
    const payload = Buffer.from('00c30e8064870e02406969000000660000000800000000e800ffff', 'hex');
    expect(() => decodeRdbValue(payload)).toThrow('its compression is broken');
  });

  test('more elements than one request may have', () => {
    const count = limits.requestArgumentsMax + 1;
    const bytes = value(1, length(count), Buffer.alloc(count));
    expect(() => decodeRdbValue(bytes)).toThrow(RdbBoundError);
  });
});
