/**
 * Values as Redis serializes them (DUMP, RDB files up to version 12, Redis 7.4): strings, lists,
 * sets, hashes, sorted sets and streams in all encodings they ever had. Pure: bytes in, elements out.
 */

import { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import { eachItem, type Slices } from '../steps/slices.ts';
import { countedFields, packedFields, type RdbField } from './rdb-fields.ts';
import { RDB_MODULE_TYPE, readRdbJson } from './rdb-json.ts';
import { intsetEntries, listpackEntries, ziplistEntries, zipmapEntries } from './rdb-packed.ts';
import { RdbError, RdbReader } from './rdb-reader.ts';
import { type RdbStream, readRdbStream } from './rdb-stream.ts';

export type RdbValue =
  | { readonly type: 'string'; readonly bytes: Buffer }
  | { readonly type: 'list' | 'set'; readonly elements: SteadyList<Buffer> }
  | {
      readonly type: 'hash';
      readonly elements: SteadyList<RdbField>;
      /** Of an encoding that has room for deadlines, whether there are any or not. */
      readonly mayExpire: boolean;
    }
  | {
      readonly type: 'zset';
      readonly elements: SteadyList<readonly [member: Buffer, score: number]>;
    }
  /** Its text; what is wrong with that is found when it is stored. */
  | { readonly type: 'json'; readonly bytes: Buffer }
  | RdbStream;

/** The numbers of Redis's type byte; 6 (old modules) is refused, 7 (modules) is that of JSON documents alone. Streams: as of Redis 5.0, 7.0, 7.2. */
export const rdbTypes = {
  string: 0,
  list: 1,
  set: 2,
  zsetText: 3,
  hash: 4,
  zset: 5,
  hashZipmap: 9,
  listZiplist: 10,
  setIntset: 11,
  zsetZiplist: 12,
  hashZiplist: 13,
  listQuicklist: 14,
  stream: 15,
  hashListpack: 16,
  zsetListpack: 17,
  listQuicklist2: 18,
  stream7: 19,
  setListpack: 20,
  stream72: 21,
  hashMetadataEarly: 22,
  hashListpackExEarly: 23,
  hashMetadata: 24,
  hashListpackEx: 25,
} as const;

/** How a node of a quicklist of the second kind is stored. */
export const quicklistNodes = { plain: 1, packed: 2 } as const;
/** Lengths that stand for scores without digits. */
const [NEGATIVE_INFINITY, POSITIVE_INFINITY, NOT_A_NUMBER] = [255, 254, 253];
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;
/** No score takes more characters. */
const SCORE_CHARACTERS_MAX = 400;
const INFINITY = /^([+-]?)inf(?:inity)?$/i;

/** By its type, in the first byte. */
export function isRdbStream(bytes: Buffer): boolean {
  const [type] = bytes;
  return type === rdbTypes.stream || type === rdbTypes.stream7 || type === rdbTypes.stream72;
}

/** The value that `bytes` (type and value, without footer) mean; RdbError when they mean none. */
export function* decodeRdbValue(bytes: Buffer): Slices<RdbValue> {
  const reader = new RdbReader(bytes);
  const value = yield* readValue(reader, reader.u8());
  reader.end();
  if ('elements' in value && value.elements.length === 0) throw new RdbError('it is empty');
  return value;
}

function* readValue(reader: RdbReader, type: number): Slices<RdbValue> {
  switch (type) {
    case rdbTypes.string:
      return { type: 'string', bytes: reader.string() };
    case rdbTypes.list:
      return { type: 'list', elements: yield* collected(strings(reader, reader.length())) };
    case rdbTypes.listZiplist:
      return { type: 'list', elements: yield* collected(ziplistEntries(reader, reader.string())) };
    case rdbTypes.listQuicklist:
    case rdbTypes.listQuicklist2:
      return { type: 'list', elements: yield* collected(quicklist(reader, type)) };
    case rdbTypes.set:
      return yield* set(strings(reader, reader.length()));
    case rdbTypes.setIntset:
      return yield* set(intsetEntries(reader, reader.string()));
    case rdbTypes.setListpack:
      return yield* set(listpackEntries(reader, reader.string()));
    case rdbTypes.hashMetadataEarly:
      return yield* hash(countedFields(reader), true);
    case rdbTypes.hashMetadata:
      return yield* hash(countedFields(reader, reader.time()), true);
    case rdbTypes.hashListpackEx:
      reader.time();
      return yield* hash(packedFields(reader), true);
    case rdbTypes.hashListpackExEarly:
      return yield* hash(packedFields(reader), true);
    case rdbTypes.hash:
      return yield* hash(fieldsOf(strings(reader, reader.length() * 2)));
    case rdbTypes.hashZipmap:
      return yield* hash(fieldsOf(zipmapEntries(reader, reader.string())));
    case rdbTypes.hashZiplist:
      return yield* hash(fieldsOf(ziplistEntries(reader, reader.string())));
    case rdbTypes.hashListpack:
      return yield* hash(fieldsOf(listpackEntries(reader, reader.string())));
    case rdbTypes.zset:
    case rdbTypes.zsetText:
      return yield* zset(scoredMembers(reader, type));
    case rdbTypes.zsetZiplist:
      return yield* zset(scoresOf(ziplistEntries(reader, reader.string())));
    case rdbTypes.zsetListpack:
      return yield* zset(scoresOf(listpackEntries(reader, reader.string())));
    case rdbTypes.stream:
      return yield* readRdbStream(reader, { hasCounts: false, hasActive: false });
    case rdbTypes.stream7:
      return yield* readRdbStream(reader, { hasCounts: true, hasActive: false });
    case rdbTypes.stream72:
      return yield* readRdbStream(reader, { hasCounts: true, hasActive: true });
    case RDB_MODULE_TYPE:
      return { type: 'json', bytes: readRdbJson(reader) };
    default:
      throw new RdbError(`type ${type} is unknown`);
  }
}

function* strings(reader: RdbReader, count: number): Generator<Buffer> {
  for (let at = 0; at < count; at++) yield reader.element(reader.string());
}

function* quicklist(reader: RdbReader, type: number): Generator<Buffer> {
  const { plain, packed } = quicklistNodes;
  const nodes = reader.length();
  for (let at = 0; at < nodes; at++) {
    if (type === rdbTypes.listQuicklist) {
      yield* ziplistEntries(reader, reader.string());
      continue;
    }
    const kind = reader.length();
    if (kind !== plain && kind !== packed) throw new RdbError(`quicklist node ${kind} is unknown`);
    const node = reader.string();
    if (kind === plain) yield reader.element(node);
    else yield* listpackEntries(reader, node);
  }
}

function* set(members: Iterable<Buffer>): Slices<RdbValue> {
  const elements = yield* collected(members);
  yield* refuseTwins(elements, (member) => member);
  return { type: 'set', elements };
}

function* hash(fields: Iterable<RdbField>, mayExpire = false): Slices<RdbValue> {
  const elements = yield* collected(fields);
  yield* refuseTwins(elements, ([field]) => field);
  return { type: 'hash', elements, mayExpire };
}

/** Fields and values in turn, none of which has a deadline. */
export function* fieldsOf(flat: Iterable<Buffer>): Generator<RdbField> {
  for (const [field, value] of pairsOf(flat)) yield [field, value, 0];
}

function* zset(scored: Iterable<readonly [Buffer, number]>): Slices<RdbValue> {
  const elements = yield* collected(scored);
  yield* refuseTwins(elements, ([member]) => member);
  return { type: 'zset', elements };
}

function* pairsOf(flat: Iterable<Buffer>): Generator<readonly [Buffer, Buffer]> {
  let first: Buffer | undefined;
  for (const item of flat) {
    if (first === undefined) {
      first = item;
    } else {
      yield [first, item];
      first = undefined;
    }
  }
  if (first !== undefined) throw new RdbError('its last element has no partner');
}

/** Members and the texts of their scores in turn. */
export function* scoresOf(flat: Iterable<Buffer>): Generator<readonly [Buffer, number]> {
  for (const [member, score] of pairsOf(flat)) yield [member, scoreOf(score)];
}

function* scoredMembers(reader: RdbReader, type: number): Generator<readonly [Buffer, number]> {
  const count = reader.length();
  for (let at = 0; at < count; at++) {
    const member = reader.element(reader.string());
    const score = type === rdbTypes.zset ? reader.f64() : scoreText(reader);
    if (Number.isNaN(score)) throw new RdbError('a score is not a number');
    yield [member, score];
  }
}

/** A score with its length before it. */
export function scoreText(reader: RdbReader): number {
  const length = reader.u8();
  if (length === NEGATIVE_INFINITY) return Number.NEGATIVE_INFINITY;
  if (length === POSITIVE_INFINITY) return Number.POSITIVE_INFINITY;
  if (length === NOT_A_NUMBER) return Number.NaN;
  return scoreOf(reader.raw(length));
}

/** A score that is stored as a text. */
export function scoreOf(bytes: Buffer): number {
  const text = bytes.toString('latin1', 0, SCORE_CHARACTERS_MAX + 1);
  if (text.length > SCORE_CHARACTERS_MAX) throw new RdbError('a score is not a number');
  const infinite = INFINITY.exec(text);
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (NUMBER.test(text)) return Number(text);
  throw new RdbError('a score is not a number');
}

function* refuseTwins<T>(elements: SteadyList<T>, nameOf: (element: T) => Buffer): Slices<void> {
  const seen = new SteadyMap<true>();
  yield* eachItem(elements, (element) => {
    seen.set(nameOf(element).toString('latin1'), true);
  });
  if (seen.size !== elements.length) throw new RdbError('an element is there twice');
}

function* collected<T>(items: Iterable<T>): Slices<SteadyList<T>> {
  const all = new SteadyList<T>();
  yield* eachItem(items, (item) => {
    all.push(item);
  });
  return all;
}
