/** Values in the encodings that Redis had over the years, built as their descriptions say. */
import {
  encodeRdbLength,
  encodeRdbString,
  encodeRdbTime,
} from '../../../../src/datanode/encoding/rdb/rdb-elements.ts';

const bytesOf = (text: string | Buffer) =>
  typeof text === 'string' ? Buffer.from(text, 'latin1') : text;

/** A string with its length. */
export function text(bytes: string | Buffer): Buffer {
  return Buffer.concat(encodeRdbString(bytesOf(bytes)));
}

export const length = encodeRdbLength;
export const time = encodeRdbTime;

export function value(type: number, ...parts: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from([type]), ...parts]);
}

/** The number that `bytes` spell, if a packed form would store it as one. */
function integerOf(bytes: Buffer): bigint | undefined {
  const spelt = bytes.toString('latin1');
  if (!/^(0|-?[1-9]\d{0,17})$/.test(spelt)) return undefined;
  return BigInt(spelt);
}

function signed(number: bigint, bytes: number): Buffer {
  const wide = Buffer.alloc(8);
  wide.writeBigInt64LE(number);
  return wide.subarray(0, bytes);
}

function fits(number: bigint, bits: number): boolean {
  return BigInt.asIntN(bits, number) === number;
}

export function ziplist(entries: readonly (string | Buffer)[]): Buffer {
  const encoded: Buffer[] = [];
  let [before, lastAt, at] = [0, 10, 10];
  for (const entry of entries.map(bytesOf)) {
    const previous =
      before < 254
        ? Buffer.from([before])
        : Buffer.concat([Buffer.from([254]), signed(BigInt(before), 4)]);
    const whole = Buffer.concat([previous, ziplistData(entry)]);
    encoded.push(whole);
    [lastAt, before] = [at, whole.length];
    at += whole.length;
  }
  const head = Buffer.alloc(10);
  head.writeUInt32LE(at + 1, 0);
  head.writeUInt32LE(lastAt, 4);
  head.writeUInt16LE(entries.length, 8);
  return Buffer.concat([head, ...encoded, Buffer.from([0xff])]);
}

function ziplistData(entry: Buffer): Buffer {
  const number = integerOf(entry);
  if (number !== undefined) {
    if (number >= 0n && number <= 12n) return Buffer.from([0xf1 + Number(number)]);
    if (fits(number, 8)) return Buffer.concat([Buffer.from([0xfe]), signed(number, 1)]);
    if (fits(number, 16)) return Buffer.concat([Buffer.from([0xc0]), signed(number, 2)]);
    if (fits(number, 24)) return Buffer.concat([Buffer.from([0xf0]), signed(number, 3)]);
    if (fits(number, 32)) return Buffer.concat([Buffer.from([0xd0]), signed(number, 4)]);
    return Buffer.concat([Buffer.from([0xe0]), signed(number, 8)]);
  }
  const long = Buffer.alloc(5);
  long[0] = 0x80;
  long.writeUInt32BE(entry.length, 1);
  if (entry.length < 64) return Buffer.concat([Buffer.from([entry.length]), entry]);
  if (entry.length >= 16_384) return Buffer.concat([long, entry]);
  return Buffer.concat([Buffer.from([0x40 | (entry.length >> 8), entry.length & 0xff]), entry]);
}

export function listpack(entries: readonly (string | Buffer)[]): Buffer {
  const encoded = entries.map(bytesOf).map((entry) => {
    const data = listpackData(entry);
    return Buffer.concat([data, backwards(data.length)]);
  });
  const body = Buffer.concat([...encoded, Buffer.from([0xff])]);
  const head = Buffer.alloc(6);
  head.writeUInt32LE(body.length + 6, 0);
  head.writeUInt16LE(entries.length, 4);
  return Buffer.concat([head, body]);
}

function listpackData(entry: Buffer): Buffer {
  const number = integerOf(entry);
  if (number !== undefined) {
    if (number >= 0n && number <= 127n) return Buffer.from([Number(number)]);
    if (fits(number, 13)) {
      const low = Number(BigInt.asUintN(13, number));
      return Buffer.from([0xc0 | (low >> 8), low & 0xff]);
    }
    if (fits(number, 16)) return Buffer.concat([Buffer.from([0xf1]), signed(number, 2)]);
    if (fits(number, 24)) return Buffer.concat([Buffer.from([0xf2]), signed(number, 3)]);
    if (fits(number, 32)) return Buffer.concat([Buffer.from([0xf3]), signed(number, 4)]);
    return Buffer.concat([Buffer.from([0xf4]), signed(number, 8)]);
  }
  if (entry.length < 64) return Buffer.concat([Buffer.from([0x80 | entry.length]), entry]);
  if (entry.length < 4_096) {
    const head = [0xe0 | (entry.length >> 8), entry.length & 0xff];
    return Buffer.concat([Buffer.from(head), entry]);
  }
  return Buffer.concat([Buffer.from([0xf0]), signed(BigInt(entry.length), 4), entry]);
}

function backwards(size: number): Buffer {
  if (size <= 127) return Buffer.from([size]);
  if (size < 16_383) return Buffer.from([size >> 7, (size & 127) | 128]);
  return Buffer.from([size >> 14, ((size >> 7) & 127) | 128, (size & 127) | 128]);
}

export function intset(numbers: readonly bigint[], width: 2 | 4 | 8): Buffer {
  const sorted = [...numbers].sort((a, b) => (a < b ? -1 : 1));
  const head = Buffer.alloc(8);
  head.writeUInt32LE(width, 0);
  head.writeUInt32LE(numbers.length, 4);
  return Buffer.concat([head, ...sorted.map((number) => signed(number, width))]);
}

export function zipmap(fields: readonly (readonly [string, string])[]): Buffer {
  const sized = (size: number) =>
    size < 254 ? Buffer.from([size]) : Buffer.concat([Buffer.from([254]), signed(BigInt(size), 4)]);
  const encoded = fields.flatMap(([field, content], at) => {
    const unused = at % 3;
    const [key, bytes] = [bytesOf(field), bytesOf(content)];
    const room = Buffer.from([unused]);
    return [sized(key.length), key, sized(bytes.length), room, bytes, Buffer.alloc(unused, 'x')];
  });
  const count = Buffer.from([Math.min(fields.length, 254)]);
  return Buffer.concat([count, ...encoded, Buffer.from([0xff])]);
}

/** A string of one byte over and over, compressed. */
export function compressedRun(byte: number, count: number): Buffer {
  const parts = [Buffer.from([0, byte])];
  let left = count - 1;
  while (left >= 9) {
    const run = Math.min(left, 264);
    parts.push(Buffer.from([7 << 5, run - 9, 0]));
    left -= run;
  }
  for (; left > 0; left--) parts.push(Buffer.from([0, byte]));
  const compressed = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([0xc3]), length(compressed.length), length(count), compressed]);
}

/** An ID of a stream, as it stands in a listpack's key and in what is pending. */
export function streamId(ms: number, sequence: number): Buffer {
  const id = Buffer.alloc(16);
  id.writeBigUInt64BE(BigInt(ms), 0);
  id.writeBigUInt64BE(BigInt(sequence), 8);
  return id;
}

/** A node with an entry of its own fields, one that is removed, and one with others. */
export function streamNode(): Buffer {
  const head = ['2', '1', '1', 'field', '0'];
  const first = ['2', '0', '0', 'value', '4'];
  const removed = ['3', '0', '1', 'gone', '4'];
  const other = ['0', '1', '-4', '2', 'a', '1', 'b', '-300', '8'];
  return listpack([...head, ...first, ...removed, ...other]);
}

/** A stream of 5-7 and 6-3, a group with one consumer, to whom the first was given. */
export function stream(type: 15 | 19 | 21): Buffer {
  const pair = (ms: number, sequence: number) => [length(ms), length(sequence)];
  const id = streamId(5, 7);
  const counts = [...pair(5, 7), ...pair(5, 8), length(3)];
  return value(
    type,
    ...[length(1), text(id), text(streamNode()), length(2), ...pair(6, 3)],
    ...(type === 15 ? [] : counts),
    ...[length(1), text('group'), ...pair(5, 7)],
    ...(type === 15 ? [] : [length(1)]),
    ...[length(1), id, time(1_700_000_000_000), length(2)],
    ...[length(1), text('consumer'), time(1_700_000_000_001)],
    ...(type === 21 ? [time(1_700_000_000_002)] : []),
    ...[length(1), id],
  );
}
