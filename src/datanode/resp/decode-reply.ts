/** Reply bytes to data: for replies that a gateway merges, and for tests. Strict and bounded. */
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { Reply } from './reply.ts';

const LF = 0x0a;
const MAP = 0x25;
const ARRAY = 0x2a;
const MINUS = 0x2d;
const HEADER_BYTES_MAX = 65_536;

/** Exactly one reply, RESP2 or RESP3; throws KvorumError BAD_FRAME for anything else. */
export function decodeReply(bytes: Buffer): Reply {
  const cursor = { bytes, at: 0 };
  const reply = readReply(cursor, 0);
  if (cursor.at !== bytes.length) throw bad(`${bytes.length - cursor.at} bytes follow the reply`);
  return reply;
}

/**
 * The same of rows, in RESP2 an array of arrays of two, whose values stay the bytes they are: they may be of
 * any size, and must be alike in both protocols.
 */
export function decodeRows(bytes: Buffer): Reply {
  const isMap = bytes[0] === MAP;
  if (!isMap && (bytes[0] !== ARRAY || bytes[1] === MINUS)) return decodeReply(bytes);
  const cursor = { bytes, at: 0 };
  const pairs: [Reply, Reply][] = [];
  for (let left = countOf(readLine(cursor).slice(1), bytes.length); left > 0; left--) {
    if (!isMap && readLine(cursor) !== '*2') throw bad('a row that is none');
    const key = readReply(cursor, 1);
    const from = cursor.at;
    skipReply(cursor);
    pairs.push([key, { kind: 'encoded', bytes: bytes.subarray(from, cursor.at) }]);
  }
  if (cursor.at !== bytes.length) throw bad(`${bytes.length - cursor.at} bytes follow the reply`);
  return { kind: 'rows', pairs };
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

function readReply(cursor: Cursor, depth: number): Reply {
  if (depth > limits.replyNestingMax) throw bad('a reply nested too deep');
  const line = readLine(cursor);
  const rest = line.slice(1);
  switch (line[0]) {
    case '+':
      return { kind: 'simple', text: rest };
    case '-':
      return { kind: 'error', text: rest };
    case ':':
      return { kind: 'integer', value: integerOf(rest) };
    case '$':
      return rest === '-1' ? { kind: 'null' } : { kind: 'bulk', bytes: readBytes(cursor, rest) };
    case '_':
      return { kind: 'null' };
    case ',':
      return { kind: 'double', value: doubleOf(rest) };
    case '#':
      if (rest !== 't' && rest !== 'f') throw bad('a boolean that is none');
      return { kind: 'boolean', value: rest === 't' };
    case '(':
      if (!/^-?\d{1,4096}$/.test(rest)) throw bad('a big number that is none');
      return { kind: 'bigNumber', value: BigInt(rest) };
    case '=':
      return verbatim(readBytes(cursor, rest).toString());
    case '*':
      if (rest === '-1') return { kind: 'nullArray' };
      return { kind: 'array', items: readItems(cursor, rest, depth) };
    case '~':
      return { kind: 'set', items: readItems(cursor, rest, depth) };
    case '>':
      return { kind: 'push', items: readItems(cursor, rest, depth) };
    case '%':
      return { kind: 'map', pairs: readPairs(cursor, rest, depth) };
    default:
      throw bad(`a reply cannot begin with ${JSON.stringify(line[0] ?? '')}`);
  }
}

/** Of arrays, bulks and lines, however deep. */
function skipReply(cursor: Cursor): void {
  for (let left = 1; left > 0; left--) {
    const line = readLine(cursor);
    if (line[0] === '*') left += countOf(line.slice(1), cursor.bytes.length);
    else if (line[0] === '$') readBytes(cursor, line.slice(1));
    else if (line[0] !== '_' && line[0] !== '+' && line[0] !== ':') throw bad('no row has this');
  }
}

function readLine(cursor: Cursor): string {
  const end = cursor.bytes.indexOf(LF, cursor.at);
  if (end < 1 || end - cursor.at > HEADER_BYTES_MAX || cursor.bytes[end - 1] !== 0x0d) {
    throw bad('a reply line does not end');
  }
  const line = cursor.bytes.toString('utf8', cursor.at, end - 1);
  cursor.at = end + 1;
  return line;
}

function readBytes(cursor: Cursor, length: string): Buffer {
  const count = countOf(length, limits.requestBulkBytesMax);
  const end = cursor.at + count;
  if (end + 2 > cursor.bytes.length) throw bad('a bulk string is cut');
  const bytes = cursor.bytes.subarray(cursor.at, end);
  cursor.at = end + 2;
  return bytes;
}

function readItems(cursor: Cursor, length: string, depth: number): Reply[] {
  const items: Reply[] = [];
  for (let left = countOf(length, cursor.bytes.length); left > 0; left--) {
    items.push(readReply(cursor, depth + 1));
  }
  return items;
}

function readPairs(cursor: Cursor, length: string, depth: number): [Reply, Reply][] {
  const pairs: [Reply, Reply][] = [];
  for (let left = countOf(length, cursor.bytes.length); left > 0; left--) {
    const key = readReply(cursor, depth + 1);
    pairs.push([key, readReply(cursor, depth + 1)]);
  }
  return pairs;
}

function countOf(text: string, highest: number): number {
  const count = /^\d{1,10}$/.test(text) ? Number(text) : -1;
  if (count < 0 || count > highest) throw bad(`a length of ${text.slice(0, 20)}`);
  return count;
}

function integerOf(text: string): number | bigint {
  if (!/^-?\d{1,20}$/.test(text)) throw bad('an integer that is none');
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

function doubleOf(text: string): number {
  if (text === 'inf') return Number.POSITIVE_INFINITY;
  if (text === '-inf') return Number.NEGATIVE_INFINITY;
  if (text === 'nan') return Number.NaN;
  if (!/^[+-]?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?$/.test(text)) {
    throw bad('a double that is none');
  }
  return Number(text);
}

function verbatim(text: string): Reply {
  const format = text.startsWith('mkd:') ? 'mkd' : 'txt';
  return { kind: 'verbatim', format, text: text.slice(4) };
}

function bad(message: string): KvorumError {
  return new KvorumError('BAD_FRAME', `reply: ${message}`);
}
