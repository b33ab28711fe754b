import { describe, expect, test } from 'vitest';
import type { RdbPart } from '../../../../src/cli/import/rdb/rdb-events.ts';
import { keyText } from '../../../../src/cli/import/rdb/rdb-events.ts';
import { RdbParser } from '../../../../src/cli/import/rdb/rdb-parser.ts';
import type { RdbValue } from '../../../../src/datanode/encoding/rdb/rdb-decode.ts';
import { rdbModuleName } from '../../../../src/datanode/encoding/rdb/rdb-json.ts';
import { decodeRdbValue } from '../../../datanode/encoding/rdb/at-once.ts';
import { length, text, time, value } from '../../../datanode/encoding/rdb/rdb-forms.ts';
import { rdbValues } from '../../../fuzz/rdb-values.ts';
import { keyed, parsed, partsOf, rdbFile } from './rdb-files.ts';

const CHUNKS = [1, 7, 100, undefined];

/** What parts come to, in the words of `decodeRdbValue`. */
function shownParts(parts: readonly RdbPart[]): unknown {
  return parts.flatMap((part): unknown[] => {
    if (part.kind === 'element') return [part.element];
    if (part.kind === 'field') return [[part.field, part.value, part.deadlineMs]];
    return part.kind === 'member' ? [[part.member, part.score]] : [];
  });
}

function shownStream(decoded: Extract<RdbValue, { type: 'stream' }>) {
  const groups = [...decoded.groups].map(({ name, lastId, consumers, pending }) => ({
    name,
    lastId,
    consumers: [...consumers].map((one) => one.name),
    pending: [...pending].map(({ id, deliveredMs, deliveries }) => ({
      id,
      deliveredMs,
      deliveries,
    })),
  }));
  return { ids: [...decoded.entries].map(({ id }) => id), lastId: decoded.lastId, groups };
}

function streamOfParts(parts: readonly RdbPart[]) {
  const of = <K extends RdbPart['kind']>(kind: K) =>
    parts.filter((part): part is Extract<RdbPart, { kind: K }> => part.kind === kind);
  const groups = of('group').map(({ name, lastId }) => ({
    name,
    lastId,
    consumers: of('consumer').map((one) => one.name),
    pending: of('pending').map(({ id, deliveredMs, deliveries }) => ({
      id,
      deliveredMs,
      deliveries,
    })),
  }));
  return { ids: of('entry').map(({ id }) => id), lastId: of('ends')[0]!.lastId, groups };
}

describe('every encoding', () => {
  const cases = rdbValues.map((bytes, at) => [at, bytes[0]!, bytes] as const);

  test.each(cases)('value %i of type %i comes as a whole, as it stands', (_at, type, bytes) => {
    const file = rdbFile(11, keyed('the key', bytes), keyed('next', rdbValues[0]!));
    for (const chunkBytes of CHUNKS) {
      const events = parsed(file, chunkBytes === undefined ? {} : { chunkBytes });
      expect(events.map(({ kind }) => kind)).toEqual([
        'header',
        type === 0 ? 'string' : 'whole',
        'string',
        'end',
      ]);
      const [, first] = events;
      if (first?.kind === 'whole') expect(first.body).toEqual(bytes);
      else expect(first).toMatchObject(decodedString(bytes));
    }
  });

  test.each(cases.slice(2))('value %i of type %i in parts is the same', (_at, _type, bytes) => {
    const decoded = decodeRdbValue(bytes);
    const file = rdbFile(11, keyed('k', bytes), keyed('next', rdbValues[0]!));
    for (const chunkBytes of CHUNKS) {
      const options = { wholeBytes: 0, ...(chunkBytes && { chunkBytes }) };
      const events = parsed(file, options);
      expect(events.at(-3)).toMatchObject({ kind: 'endOfLarge', refused: undefined });
      expect(events.at(-2)).toMatchObject({ kind: 'string', head: { key: Buffer.from('next') } });
      const parts = partsOf(events);
      if (decoded.type === 'stream') {
        expect(streamOfParts(parts)).toEqual(shownStream(decoded));
      } else if ('elements' in decoded) {
        expect(shownParts(parts)).toEqual([...decoded.elements]);
      }
    }
  });
});

function decodedString(bytes: Buffer) {
  const decoded = decodeRdbValue(bytes);
  if (decoded.type !== 'string') throw new Error('no string');
  return { kind: 'string', bytes: decoded.bytes };
}

const plain = (key: string) => keyed(key, value(0, text('v')));
/** Behind what it is, which value it has. */
const bytes = (...all: number[]) => Buffer.from(all);

describe('what stands beside values', () => {
  test('deadlines of both kinds, each for the key behind it alone', () => {
    const seconds = Buffer.alloc(4);
    seconds.writeInt32LE(1_700_000_000);
    const file = rdbFile(
      9,
      ...[bytes(252), time(1_700_000_000_001), plain('ms')],
      ...[bytes(253), seconds, plain('s'), plain('none')],
      ...[bytes(248, 5), bytes(249, 200), plain('idle')],
    );
    const deadlines = parsed(file).flatMap((event) =>
      event.kind === 'string' ? [[event.head.key.toString(), event.head.deadlineMs]] : [],
    );
    expect(deadlines).toEqual([
      ['ms', 1_700_000_000_001],
      ['s', 1_700_000_000_000],
      ['none', undefined],
      ['idle', undefined],
    ]);
  });

  test('databases, sizes, slots, aux, functions and data of modules', () => {
    const aux = Buffer.concat([bytes(250), text('redis-ver'), text('7.4.0')]);
    const library = Buffer.concat([bytes(245), text('#!lua name=mylib\nredis.x()')]);
    const id = Buffer.alloc(9);
    id[0] = 0x81;
    id.writeBigUInt64BE(idOf('ReJSON-RL'), 1);
    const moduleAux = Buffer.concat([bytes(247), id, bytes(2, 1, 5), text('data'), bytes(0)]);
    const file = rdbFile(
      12,
      ...[aux, library, moduleAux, bytes(254, 3), bytes(251, 7, 2), bytes(244, 1, 2, 3)],
      plain('k'),
    );
    expect(parsed(file, { chunkBytes: 1 }).slice(1)).toMatchObject([
      { kind: 'aux', name: 'redis-ver', value: '7.4.0' },
      { kind: 'library', name: 'mylib', code: Buffer.from('#!lua name=mylib\nredis.x()') },
      { kind: 'skipped', what: 'data of the module ReJSON-RL' },
      { kind: 'database', database: 3 },
      { kind: 'sizes', keys: 7, deadlines: 2 },
      { kind: 'string' },
      { kind: 'end', hasChecksum: true },
    ]);
  });

  test('a JSON document comes as RESTORE takes it, another version of it is refused', () => {
    const ofVersion = (version: bigint) => {
      const id = Buffer.alloc(9, 0x81);
      id.writeBigUInt64BE((idOf('ReJSON-RL') & ~1023n) | version, 1);
      return value(7, id, bytes(5), text('{"a":1}'), bytes(0));
    };
    const of = (version: bigint) => rdbFile(9, keyed('doc', ofVersion(version)), plain('next'));
    for (const chunkBytes of CHUNKS) {
      const options = { ...(chunkBytes && { chunkBytes }) };
      expect(parsed(of(3n), options).slice(1)).toMatchObject([
        { kind: 'whole', head: { key: Buffer.from('doc') }, body: ofVersion(3n) },
        { kind: 'string' },
        { kind: 'end' },
      ]);
      const why = 'it is a JSON document of version 2, and what is read is version 3';
      expect(parsed(of(2n), options).slice(1)).toMatchObject([
        { kind: 'refused', why },
        { kind: 'string' },
        { kind: 'end' },
      ]);
    }
  });

  test('a value of a module is refused by name, and the next key is read', () => {
    const id = Buffer.alloc(9);
    id[0] = 0x81;
    id.writeBigUInt64BE(idOf('MBbloom--'), 1);
    const body = [id, bytes(2, 7), bytes(3, 0, 0, 0, 0), bytes(4), Buffer.alloc(8)];
    const module = value(7, ...body, bytes(5), text('bits'), bytes(0));
    const file = rdbFile(9, keyed('filter', module), plain('next'));
    for (const chunkBytes of [1, 1_000]) {
      expect(parsed(file, { chunkBytes }).slice(1)).toMatchObject([
        { kind: 'refused', why: 'it is a value of the module MBbloom--' },
        { kind: 'string', head: { key: Buffer.from('next') } },
        { kind: 'end' },
      ]);
    }
  });

  test('old files have no checksum, and newer ones may have zeros in its place', () => {
    for (const version of [1, 2, 3, 4]) {
      expect(parsed(rdbFile(version, plain('k'))).at(-1)).toEqual({
        kind: 'end',
        hasChecksum: false,
      });
    }
    const file = rdbFile(11, plain('k'));
    file.fill(0, file.length - 8);
    expect(parsed(file).at(-1)).toEqual({ kind: 'end', hasChecksum: false });
  });

  test('what follows the file stays', () => {
    const parser = new RdbParser();
    parser.push(Buffer.concat([rdbFile(9, plain('k')), Buffer.from('*1\r\n')]));
    while (parser.next() !== undefined);
    expect([parser.isDone, parser.rest().toString()]).toEqual([true, '*1\r\n']);
  });
});

function idOf(name: string): bigint {
  const characters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  let id = 0n;
  for (const character of name) id = (id << 6n) | BigInt(characters.indexOf(character));
  expect(rdbModuleName(id << 10n)).toBe(name);
  return (id << 10n) | 1n;
}

describe('what is beyond the limits', () => {
  const long = Buffer.alloc(16 * 1_048_576 + 1, 'x');

  test('a string: it is read over', () => {
    const file = rdbFile(9, keyed('big', value(0, text(long))), plain('next'));
    expect(parsed(file, { chunkBytes: 1_000_000 }).slice(1)).toMatchObject([
      { kind: 'refused', why: 'a string in it has more than 16777216 bytes' },
      { kind: 'string' },
      { kind: 'end' },
    ]);
  });

  test('an element: what is before it comes, and the rest is read over', () => {
    const list = value(1, length(3), text('a'), text(long), text('b'));
    const events = parsed(rdbFile(9, keyed('big', list), plain('next')));
    expect(events.slice(1)).toMatchObject([
      { kind: 'large' },
      { kind: 'part' },
      { kind: 'endOfLarge', refused: 'a string in it has more than 16777216 bytes' },
      { kind: 'string' },
      { kind: 'end' },
    ]);
  });

  test('a name: its beginning is told', () => {
    const name = 'n'.repeat(512 * 1_024 + 1);
    const list = value(1, length(2), text('a'), text('b'));
    for (const one of [list, value(0, text('v'))]) {
      const events = parsed(rdbFile(9, keyed(name, one), plain('next')), { chunkBytes: 60_000 });
      expect(events.slice(1)).toMatchObject([
        { kind: 'refused', why: 'its name has 524289 bytes, more than 524288' },
        { kind: 'string', head: { key: Buffer.from('next') } },
        { kind: 'end' },
      ]);
    }
  });
});

describe('what is damaged or cut is told with its place', () => {
  const file = rdbFile(11, plain('first'), keyed('the list', rdbValues[2]!), plain('last'));

  test('cut at any byte', () => {
    for (let end = 0; end < file.length; end++) {
      expect(() => parsed(file.subarray(0, end))).toThrow(
        /^at byte \d+, in .*: the file ends here/,
      );
    }
    expect(() => parsed(file.subarray(0, 40))).toThrow(
      'at byte 28, in the value of the key "the list": the file ends here: it is cut',
    );
  });

  test('any bit flipped', () => {
    for (let bit = 0; bit < 8 * file.length; bit++) {
      const bent = Buffer.from(file);
      bent[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => parsed(bent)).toThrow(/^at byte \d+, in /);
    }
  });

  test.each([
    [
      'no RDB file',
      Buffer.from('*1\r\n$4\r\nPING'),
      "in the file's header: it does not begin with",
    ],
    ['a newer version', rdbFile(13), 'the version 13 of the format is not known'],
    ['a newer type', rdbFile(11, keyed('k', bytes(30))), 'there is no type 30'],
    ['a module of Redis 4.0', rdbFile(9, keyed('k', bytes(6))), 'in the value of the key "k"'],
  ])('%s', (_name, bent, told) => {
    expect(() => parsed(bent)).toThrow(told);
  });
});

test('keys are shown so that nothing of them is lost on a terminal', () => {
  expect(keyText(Buffer.from('a "b" \\'))).toBe('"a \\"b\\" \\\\"');
  expect(keyText(Buffer.from('é\n'))).toBe('"\\xc3\\xa9\\x0a"');
  expect(keyText(Buffer.alloc(100, 'x'))).toBe(`"${'x'.repeat(64)}"…`);
});
