/** Bytes bent by what formats are made of: lengths, counts, tags, and parts in their order. */
import type { Random } from '../../../src/common/random.ts';

/** Larger inputs only cost time. */
const BYTES_MAX = 64 * 1024;

/** Where counters overflow, signs turn and limits lie. */
const edges = [
  ...[0, 1, 2, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 511, 512, 4_095, 4_096],
  ...[16_383, 16_384, 32_767, 32_768, 65_535, 65_536, 1_048_575, 1_048_576, 1_048_577],
  ...[2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1, 2 ** 53],
];

const numberTexts = [
  ...['-1', '-0', '0', '00', '1', '+1', '1e3', '0x10', '1.5', ' 1', 'nan', 'inf', '-inf', ''],
  ...['65535', '65536', '1048577', '2147483647', '2147483648', '4294967296', '536870913'],
  ...['9007199254740992', '9223372036854775807', '9223372036854775808', '18446744073709551615'],
  '1'.repeat(40),
];

type Bend = (bytes: Buffer, other: Buffer, random: Random) => Buffer;

/** Small distances are likelier: parts of formats are short. */
function span(random: Random, most: number): number {
  const bound = random.below(4) > 0 ? Math.min(16, most) : most;
  return bound === 0 ? 0 : 1 + random.below(bound);
}

function slice(bytes: Buffer, random: Random): readonly [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  return [from, from + span(random, bytes.length - from)];
}

const flip: Bend = (bytes, _other, random) => {
  if (bytes.length > 0) bytes[random.below(bytes.length)]! ^= 1 << random.below(8);
  return bytes;
};

const setByte: Bend = (bytes, _other, random) => {
  if (bytes.length > 0) bytes[random.below(bytes.length)] = random.u32();
  return bytes;
};

/** As a length that is wrong by little. */
const nudge: Bend = (bytes, _other, random) => {
  if (bytes.length > 0) bytes[random.below(bytes.length)]! += 1 + random.below(8) - 5;
  return bytes;
};

const truncate: Bend = (bytes, _other, random) => bytes.subarray(0, random.below(bytes.length + 1));

const cut: Bend = (bytes, _other, random) => {
  const [from, to] = slice(bytes, random);
  return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
};

const double: Bend = (bytes, _other, random) => {
  const [from, to] = slice(bytes, random);
  return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
};

const repeat: Bend = (bytes, _other, random) => {
  const [from, to] = slice(bytes, random);
  const part = bytes.subarray(from, Math.min(to, from + 64));
  const times = 2 + random.below(random.below(8) === 0 ? 500 : 8);
  const many = Array.from({ length: times }, () => part);
  return Buffer.concat([bytes.subarray(0, from), ...many, bytes.subarray(from)]);
};

/** Two parts in the other order. */
const swap: Bend = (bytes, _other, random) => {
  const [from, to] = slice(bytes, random);
  const end = to + span(random, bytes.length - to);
  const parts = [bytes.subarray(to, end), bytes.subarray(from, to), bytes.subarray(end)];
  return Buffer.concat([bytes.subarray(0, from), ...parts]);
};

const zero: Bend = (bytes, _other, random) => {
  const [from, to] = slice(bytes, random);
  bytes.fill(0, from, to);
  return bytes;
};

const insert: Bend = (bytes, _other, random) => {
  const at = random.below(bytes.length + 1);
  const more = Buffer.from(random.hex(1 + random.below(16)), 'hex');
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
};

/** A number of 1, 2, 4 or 8 bytes, in either order, becomes one from the edge. */
const edge: Bend = (bytes, _other, random) => {
  const width = 2 ** random.below(4);
  if (bytes.length < width) return bytes;
  const at = random.below(bytes.length - width + 1);
  const number = BigInt(edges[random.below(edges.length)]! - random.below(2));
  const field = Buffer.alloc(8);
  if (random.below(2) === 0) {
    field.writeBigInt64BE(number);
    field.copy(bytes, at, 8 - width);
  } else {
    field.writeBigInt64LE(number);
    field.copy(bytes, at, 0, width);
  }
  return bytes;
};

/** A number of 7 bits a byte. */
const varint: Bend = (bytes, _other, random) => {
  const at = random.below(bytes.length + 1);
  const long = random.below(12);
  const field = Buffer.alloc(long + 1, 0xff);
  field[long] = random.below(128);
  return Buffer.concat([bytes.subarray(0, at), field, bytes.subarray(at + span(random, 4))]);
};

/** A piece of another input, put in or in the place of something. */
const splice: Bend = (bytes, other, random) => {
  const [from, to] = slice(bytes, random);
  const [begin, end] = slice(other, random);
  const rest = bytes.subarray(random.below(2) === 0 ? from : to);
  return Buffer.concat([bytes.subarray(0, from), other.subarray(begin, end), rest]);
};

/** The beginning of one, the end of another. */
const cross: Bend = (bytes, other, random) => {
  const head = bytes.subarray(0, random.below(bytes.length + 1));
  return Buffer.concat([head, other.subarray(random.below(other.length + 1))]);
};

/** Digits become another number. */
const digits: Bend = (bytes, _other, random) => {
  if (bytes.length === 0) return bytes;
  const isDigit = (at: number) => bytes[at]! >= 0x30 && bytes[at]! <= 0x39;
  let from = random.below(bytes.length);
  while (from < bytes.length && !isDigit(from)) from++;
  let to = from;
  while (to < bytes.length && isDigit(to)) to++;
  if (from === to) return bytes;
  const text = numberTexts[random.below(numberTexts.length)]!;
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(text), bytes.subarray(to)]);
};

const bends: readonly Bend[] = [
  ...[flip, setByte, nudge, truncate, cut, double, repeat, swap, zero, insert],
  ...[edge, edge, varint, splice, splice, cross, digits],
];

/** One to four changes, one after the other; neither input is touched. */
export function bendBytes(input: Buffer, other: Buffer, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let left = 1 + random.below(4); left > 0; left--) {
    bytes = bends[random.below(bends.length)]!(bytes, other, random);
  }
  return bytes.length > BYTES_MAX ? bytes.subarray(0, BYTES_MAX) : bytes;
}

/** An input of which the first byte says which decoder the rest is for; mostly it stays. */
export function bendBehindDoor(input: Buffer, other: Buffer, random: Random): Buffer {
  const rest = bendBytes(input.subarray(1), other.subarray(1), random);
  const door = random.below(40) === 0 ? other[0] : input[0];
  return Buffer.concat([Buffer.of(door ?? 0), rest]);
}

export { numberTexts };
