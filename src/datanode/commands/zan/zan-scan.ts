/**
 * ZanRedisDB's walks over the keys of one table (`table:key`), of one type, in one partition: with
 * their values (ZAN.FULLSCAN) or without (ZAN.SCAN). The order is the one in which keys are stored;
 * a cursor names the last key that was looked at, so no node keeps anything for it. A full scan may
 * end a page within a collection: then the cursor says behind which of its elements.
 */
import { unreachable } from '../../../common/assert.ts';
import { limits } from '../../../common/limits.ts';
import { decodeField, fieldsOf, readHash } from '../../encoding/hashes/hash.ts';
import { isExpired } from '../../encoding/keyspace/keyspace.ts';
import { decodeElement, readList } from '../../encoding/lists/list.ts';
import {
  type CollectionType,
  decodeMember,
  ELEMENT_PREFIX_BYTES,
  elementRange,
  isCollectionType,
} from '../../encoding/records/element-key.ts';
import { decodeHeader, type Header, type ValueType } from '../../encoding/records/header.ts';
import { decodeKey, encodeKey, keyAfter, keyRange } from '../../encoding/records/key.ts';
import { tags } from '../../encoding/records/tags.ts';
import { membersOf, readSet } from '../../encoding/sets/set.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View } from '../../encoding/txn/view.ts';
import { entryOf, readZset } from '../../encoding/zsets/zset.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import { formatDouble } from '../../resp/encode-reply.ts';
import { array, bulk, type Reply } from '../../resp/reply.ts';
import { argument } from '../rows/args.ts';
import { ArgumentError, type Command, NO_KEYS, type RunContext, read } from '../rows/command.ts';
import { matchesGlob } from '../texts/glob.ts';
import { type PageOptions, pageOptions } from './zan-page.ts';
import { typeArgument } from './zan-types.ts';

const COUNT_MAX = 5_000;
/** Keys that one page looks at at most, wanted or not. */
const LOOKS_MAX = 10_000;
/** Keys that are read before the values of the first of them. */
const FULL_SLICE = 64;

interface TableScan extends PageOptions {
  readonly type: ValueType;
  /** `table:`, which the names of its keys begin with. */
  readonly prefix: Buffer;
  readonly cursor: ScanCursor;
}

interface ScanCursor {
  /** Undefined: from the beginning. */
  readonly key: Buffer | undefined;
  /** Within the value of `key`: behind this element; undefined: behind all of it. */
  readonly element: Buffer | undefined;
}

/** ZAN.SCAN type table cursor [REV] [MATCH pattern] [COUNT count]; ZAN.FULLSCAN without REV. */
function parseScan(args: readonly Buffer[], full: boolean): TableScan {
  const options = pageOptions(args, COUNT_MAX, !full);
  const table = argument(args, 2);
  return {
    type: typeArgument(args, 1),
    prefix: Buffer.concat([table, Buffer.from(':')]),
    cursor: full ? decodeFullCursor(argument(args, 3)) : keyCursor(argument(args, 3)),
    ...options,
  };
}

function keyCursor(key: Buffer): ScanCursor {
  return { key: key.length === 0 ? undefined : key, element: undefined };
}

/** `base64(key):base64(element)`, the second half empty behind all of the key's value. */
function decodeFullCursor(cursor: Buffer): ScanCursor {
  if (cursor.length === 0) return keyCursor(cursor);
  const text = cursor.toString('latin1');
  if (!/^[A-Za-z0-9+/]+=*:[A-Za-z0-9+/]*=*$/.test(text)) {
    throw new ArgumentError('ERR invalid cursor');
  }
  const [key = '', element = ''] = text.split(':');
  const within = element === '' ? undefined : Buffer.from(element, 'base64');
  return { key: Buffer.from(key, 'base64'), element: within };
}

function encodeFullCursor(key: Buffer, element: Buffer | undefined): Buffer {
  return Buffer.from(`${key.toString('base64')}:${element?.toString('base64') ?? ''}`);
}

/** Keys behind the cursor; the cursor's own as well while elements of it are to come. */
function rangeOf({ cursor, reverse }: TableScan, { firstSlot, lastSlot }: RunContext): KeyRange {
  const all = keyRange(firstSlot, 0, lastSlot);
  if (cursor.key === undefined) return all;
  const place = encodeKey(cursor.key);
  if (reverse) return { ...all, lt: place };
  return { ...all, gte: cursor.element === undefined ? keyAfter(place) : place };
}

function rangeBehind(range: KeyRange, { reverse }: TableScan, last: Buffer): KeyRange {
  return reverse ? { ...range, lt: last } : { ...range, gte: keyAfter(last) };
}

interface Met {
  readonly place: Buffer;
  readonly key: Buffer;
  /** Undefined when the scan does not want it. */
  readonly header: Header | undefined;
}

function meet([place, value]: KeyValue, request: TableScan, nowMs: number): Met {
  const { key } = decodeKey(place);
  const { prefix, type, glob } = request;
  const inTable = key.length >= prefix.length && prefix.equals(key.subarray(0, prefix.length));
  if (!inTable) return { place, key, header: undefined };
  const header = decodeHeader(place, value);
  const wanted =
    header.type === type &&
    !isExpired(place, header, nowMs) &&
    (glob === undefined || matchesGlob(glob, key.subarray(prefix.length)));
  return { place, key, header: wanted ? header : undefined };
}

/** The one item: [next cursor, item …]. Answers of several partitions are joined to one array. */
function page(next: Buffer | undefined, items: readonly Reply[]): Reply {
  return array([array([bulk(next ?? Buffer.alloc(0)), ...items])]);
}

function* runScan(_view: View, request: TableScan, context: RunContext): Slices<Reply> {
  const { reverse, count, prefix } = request;
  const keys: Reply[] = [];
  let bytes = 0;
  let range = rangeOf(request, context);
  let looks = 0;
  let last: Buffer | undefined;
  for (;;) {
    const pairs = yield { ...range, reverse, limit: limits.rangeSlicePairs };
    if (pairs.length === 0) return page(undefined, keys);
    for (const pair of pairs) {
      const isFull = keys.length === count || bytes > limits.batchReplyBytes;
      if (isFull || looks === LOOKS_MAX) return page(decodeKey(last!).key, keys);
      const { key, place, header } = meet(pair, request, context.nowMs);
      if (header !== undefined) {
        keys.push(bulk(key.subarray(prefix.length)));
        bytes += key.length;
      }
      looks++;
      last = place;
    }
    range = rangeBehind(range, request, last!);
  }
}

/** What a page may still take. */
interface Room {
  elements: number;
  bytes: number;
}

function isFull({ elements, bytes }: Room): boolean {
  return elements <= 0 || bytes <= 0;
}

function* runFullScan(view: View, request: TableScan, context: RunContext): Slices<Reply> {
  const room: Room = { elements: request.count, bytes: limits.batchReplyBytes };
  const items: Reply[] = [];
  let range = rangeOf(request, context);
  let looks = 0;
  let behind = request.cursor.element;
  for (;;) {
    const pairs = yield { ...range, limit: FULL_SLICE };
    if (pairs.length === 0) return page(undefined, items);
    for (const pair of pairs) {
      const { key, header } = meet(pair, request, context.nowMs);
      const begun = behind !== undefined && key.equals(request.cursor.key!) ? behind : undefined;
      behind = undefined;
      let broken: Buffer | undefined;
      if (header !== undefined) {
        const name = bulk(key.subarray(request.prefix.length));
        const value = yield* wholeValue(view, { key, header, behind: begun }, room, context.nowMs);
        if (value.items.length > 0) items.push(array([name, ...value.items]));
        broken = value.brokenAt;
      }
      if (broken !== undefined || isFull(room) || ++looks === LOOKS_MAX) {
        return page(encodeFullCursor(key, broken), items);
      }
    }
    range = rangeBehind(range, request, pairs.at(-1)![0]);
  }
}

interface Value {
  readonly items: readonly Reply[];
  /** The element behind which the next page goes on; undefined when there is none behind it. */
  readonly brokenAt: Buffer | undefined;
}

interface Wanted {
  readonly key: Buffer;
  readonly header: Header;
  readonly behind: Buffer | undefined;
}

function* wholeValue(view: View, wanted: Wanted, room: Room, nowMs: number): Slices<Value> {
  const { key, header } = wanted;
  if (!isCollectionType(header.type)) {
    room.elements--;
    room.bytes -= key.length + header.body.length;
    return { items: [bulk(header.body)], brokenAt: undefined };
  }
  const walk = yield* elementsOf(view, key, header.type, nowMs);
  if (walk === undefined) return { items: [], brokenAt: undefined };
  const items: Reply[] = [];
  let range = walk.range;
  if (wanted.behind !== undefined) {
    const prefix = range.gte.subarray(0, ELEMENT_PREFIX_BYTES);
    range = { ...range, gte: keyAfter(Buffer.concat([prefix, wanted.behind])) };
  }
  let last: Buffer | undefined;
  for (;;) {
    const pairs = yield { ...range, limit: Math.max(1, room.elements + 1) };
    if (pairs.length === 0) return { items, brokenAt: undefined };
    for (const pair of pairs) {
      if (isFull(room) && last !== undefined) {
        return { items, brokenAt: last.subarray(ELEMENT_PREFIX_BYTES) };
      }
      last = pair[0];
      const item = walk.give(pair);
      if (item === undefined) continue;
      items.push(item);
      room.elements--;
      room.bytes -= pair[0].length + pair[1].length;
    }
    range = { ...range, gte: keyAfter(last!) };
  }
}

interface ElementWalk {
  readonly range: KeyRange;
  /** Undefined for one that has expired. */
  give(element: KeyValue): Reply | undefined;
}

function* elementsOf(
  view: View,
  key: Buffer,
  type: CollectionType,
  nowMs: number,
): Slices<ElementWalk | undefined> {
  switch (type) {
    case 'hash': {
      const hash = readHash(view, key, nowMs);
      if (hash === undefined || hash === 'wrong-type') return undefined;
      const { range, isLive } = yield* fieldsOf(hash);
      const give = (pair: KeyValue) =>
        isLive(pair)
          ? array([bulk(decodeMember(pair[0])), bulk(decodeField(pair).value)])
          : undefined;
      return { range, give };
    }
    case 'set': {
      const set = readSet(view, key, nowMs);
      if (set === undefined || set === 'wrong-type') return undefined;
      return { range: membersOf(set).range, give: ([at]) => bulk(decodeMember(at)) };
    }
    case 'zset': {
      const zset = readZset(view, key, nowMs);
      if (zset === undefined || zset === 'wrong-type') return undefined;
      const give = (pair: KeyValue) => {
        const { member, score } = entryOf(pair);
        return array([bulk(member), bulk(formatDouble(score))]);
      };
      return { range: elementRange(tags.zsetScore, zset.place), give };
    }
    case 'list': {
      const list = readList(view, key, nowMs);
      if (list === undefined || list === 'wrong-type') return undefined;
      const range = elementRange(tags.listElement, list.place);
      return { range, give: ([at, value]) => bulk(decodeElement(at, value)) };
    }
    case 'stream': // no type of ZanRedisDB
      return undefined;
    default:
      return unreachable(type);
  }
}

const column = {
  arity: -4,
  flags: ['readonly'],
  keys: NO_KEYS,
  categories: ['keyspace'],
  group: 'generic',
  since: '7.0.0',
  fanOut: { over: 'partitions', merge: 'concat' },
} as const;

export const zanScanCommands: readonly Command[] = [
  read({
    ...column,
    name: 'zan.scan',
    summary: 'Iterates over the keys of one table and type in each partition.',
    parse: (args) => parseScan(args, false),
    run: runScan,
  }),
  read({
    ...column,
    name: 'zan.fullscan',
    readsAnyKey: true,
    summary: 'Iterates over the keys of one table and type, and their values, in each partition.',
    parse: (args) => parseScan(args, true),
    run: runFullScan,
  }),
];
