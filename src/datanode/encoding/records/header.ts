/**
 * The value of a key record. Frozen format:
 *
 *   type u8 · flags u8 · [deadline u64, when flag 1 is set] · body
 *   body of a string: its bytes; of a JSON document: its text, without a space
 *   body of a collection: version (index u64, ordinal u32) · size u64 · what its type adds
 *
 * Flags: 1 has a deadline (milliseconds since 1970) · 2 the string was edited in place (encoding
 * `raw`) · 4 the string is the result of float arithmetic (never encoding `int`). A reader that
 * meets an unknown type or flag refuses: an older build must not guess.
 *
 * A collection's version is the index of the entry that created it and an ordinal within that
 * entry: unique in the group, so that elements of a deleted collection are never seen again.
 */
import { copyInto, readU32, readU64, writeU32, writeU64 } from '../../../common/bytes.ts';
import { corruptRecord } from './record.ts';

export const valueTypes = {
  string: 1,
  hash: 2,
  list: 3,
  set: 4,
  zset: 5,
  stream: 6,
  json: 7,
} as const;

export type ValueType = keyof typeof valueTypes;

/** How a string came to be; shown by OBJECT ENCODING. */
export type StringOrigin = 'set' | 'edited' | 'float';

export interface Header {
  readonly type: ValueType;
  /** Milliseconds since 1970; 0: none. */
  readonly deadlineMs: number;
  readonly origin: StringOrigin;
  /** What follows the header: the string itself, or the collection's fields. */
  readonly body: Buffer;
}

/** What is known, unread, of a string without a deadline, or the field of a hash without one. */
export interface PlainString {
  readonly type: 'string';
  readonly deadlineMs: 0;
}

export const PLAIN_STRING: PlainString = { type: 'string', deadlineMs: 0 };

export interface Version {
  readonly index: number;
  readonly ordinal: number;
}

export interface CollectionHeader {
  readonly version: Version;
  readonly size: number;
  /** What the type adds. */
  readonly extra: Buffer;
}

const HAS_DEADLINE = 1;
const EDITED = 2;
const FLOAT = 4;
const KNOWN_FLAGS = HAS_DEADLINE | EDITED | FLOAT;
const VERSION_BYTES = 12;
const COLLECTION_BYTES = 20;
/** So many characters of a whole number are told apart by a double. */
const INTEGER_BYTES_MAX = 15;
const [ZERO, MINUS] = [0x30, 0x2d];

const typeOfNumber = new Map<number, ValueType>(
  Object.entries(valueTypes).map(([name, number]) => [number, name as ValueType]),
);

/** As TYPE and SCAN … TYPE name it: a document as RedisJSON does. Without a type: `none`. */
export function typeNameOf(type: ValueType | undefined): string {
  return type === 'json' ? 'ReJSON-RL' : (type ?? 'none');
}

/** The type with this number; undefined when there is none. */
export function valueTypeOf(number: number): ValueType | undefined {
  return typeOfNumber.get(number);
}

export function encodeHeader({ type, deadlineMs, origin, body }: Header): Buffer {
  const bodyAt = deadlineMs > 0 ? 10 : 2;
  const encoded = Buffer.allocUnsafe(bodyAt + body.length);
  encoded[0] = valueTypes[type];
  encoded[1] =
    (deadlineMs > 0 ? HAS_DEADLINE : 0) |
    (origin === 'edited' ? EDITED : 0) |
    (origin === 'float' ? FLOAT : 0);
  if (deadlineMs > 0) writeU64(encoded, deadlineMs, 2);
  copyInto(encoded, body, bodyAt);
  return encoded;
}

/** `key` names the record in the error. The body is a view of `value`. */
export function decodeHeader(key: Buffer, value: Buffer): Header {
  const type = typeOfNumber.get(value[0] ?? 0);
  const flags = value[1] ?? 0;
  if (type === undefined || value.length < 2) throw corruptRecord(key, `type ${value[0]} unknown`);
  if ((flags & ~KNOWN_FLAGS) !== 0) throw corruptRecord(key, `header flags ${flags} unknown`);
  const bodyAt = (flags & HAS_DEADLINE) !== 0 ? 10 : 2;
  if (value.length < bodyAt) throw corruptRecord(key, 'its header is cut');
  return {
    type,
    deadlineMs: bodyAt === 10 ? readU64(value, 2) : 0,
    origin: (flags & EDITED) !== 0 ? 'edited' : (flags & FLOAT) !== 0 ? 'float' : 'set',
    body: value.subarray(bodyAt),
  };
}

/** Whether the header at the beginning of `value` is that of a string without a deadline. */
export function isPlainString(value: Buffer): boolean {
  return value[0] === valueTypes.string && (value[1]! & HAS_DEADLINE) === 0;
}

/** `value` is a string without a deadline that ends at `end`: the whole number it is, when it is one. */
export function plainInteger(value: Buffer, end: number): number | undefined {
  if (value[1] !== 0 || end > 2 + INTEGER_BYTES_MAX) return undefined;
  const isNegative = value[2] === MINUS;
  const from = isNegative ? 3 : 2;
  // zero has one form, and nothing else begins with it
  if (end <= from || (value[from] === ZERO && end - from + (isNegative ? 1 : 0) > 1)) {
    return undefined;
  }
  let number = 0;
  for (let at = from; at < end; at++) {
    const digit = value[at]! - ZERO;
    if (digit < 0 || digit > 9) return undefined;
    number = number * 10 + digit;
  }
  return isNegative ? -number : number;
}

/** The value that `plainInteger` came from. */
export function valueOfInteger(integer: number): Buffer {
  const body = Buffer.from(String(integer), 'latin1');
  return encodeHeader({ type: 'string', deadlineMs: 0, origin: 'set', body });
}

/** The body of a collection's header. */
export function encodeCollection({ version, size, extra }: CollectionHeader): Buffer {
  const body = Buffer.allocUnsafe(COLLECTION_BYTES + extra.length);
  writeU64(body, version.index, 0);
  writeU32(body, version.ordinal, 8);
  writeU64(body, size, 12);
  copyInto(body, extra, COLLECTION_BYTES);
  return body;
}

export function decodeCollection(key: Buffer, body: Buffer): CollectionHeader {
  if (body.length < COLLECTION_BYTES) throw cut(key);
  return {
    version: { index: readU64(body, 0), ordinal: readU32(body, 8) },
    size: readU64(body, 12),
    extra: body.subarray(COLLECTION_BYTES),
  };
}

/** Whether bodies of two collections of one type are of the same one. */
export function isSameCollection(key: Buffer, one: Buffer, other: Buffer): boolean {
  if (Math.min(one.length, other.length) < COLLECTION_BYTES) throw cut(key);
  for (let at = VERSION_BYTES - 1; at >= 0; at--) if (one[at] !== other[at]) return false;
  return true;
}

/** How many bytes its type adds to the header of a collection. */
export function extraBytes(key: Buffer, body: Buffer): number {
  if (body.length < COLLECTION_BYTES) throw cut(key);
  return body.length - COLLECTION_BYTES;
}

function cut(key: Buffer): Error {
  return corruptRecord(key, 'its collection header is cut');
}
