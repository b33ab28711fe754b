/**
 * Walks over all keys of a partition: SCAN, KEYS, RANDOMKEY, DBSIZE, FLUSHALL.
 *
 * A SCAN cursor is a position, not a handle (`scan-cursor.ts`). Keys of a slot are stored in order of
 * their hash, so no node keeps anything for it and it survives changes of leader and of node. A key
 * present throughout is always given: the walk never passes a position before all keys there are
 * given (keys of equal hash go together).
 */

import type { KeyShare } from '../../../common/hash.ts';
import { limits } from '../../../common/limits.ts';
import { isExpired } from '../../encoding/keyspace/keyspace.ts';
import { decodeHeader, typeNameOf } from '../../encoding/records/header.ts';
import {
  decodeKey,
  type KeyPlace,
  keyAfter,
  keyRange,
  redisDataRange,
} from '../../encoding/records/key.ts';
import { readCounts, writeCounts } from '../../encoding/records/system.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { array, bulk, EMPTY_ARRAY, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, SYNTAX_ERROR, syntaxError, word } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  type RunContext,
  read,
  write,
} from '../rows/command.ts';
import { type Glob, isAnything, matchesGlob, patternArgument } from '../texts/glob.ts';
import { cursorOf, parseCursor, positionOf, type ScanPosition } from './scan-cursor.ts';

const HASHES = 2 ** 32;
const SCAN_COUNT = 10;
/** Partitions up to this size are read whole for RANDOMKEY: then its choice is uniform. */
const RANDOM_WHOLE_MAX = 50;
/** Pairs read at a random place. */
const RANDOM_SLICE = 16;

interface ScanRequest {
  readonly cursor: number;
  readonly count: number;
  readonly glob: Glob | undefined;
  readonly type: string | undefined;
}

/** SCAN cursor [MATCH pattern] [COUNT count] [TYPE type] */
function parseScan(args: readonly Buffer[]): ScanRequest {
  const cursor = parseCursor(argument(args, 1));
  if (cursor === undefined) throw new ArgumentError('ERR invalid cursor');
  let count = SCAN_COUNT;
  let glob: Glob | undefined;
  let type: string | undefined;
  for (let at = 2; at < args.length; at += 2) {
    const option = word(argument(args, at));
    if (at + 1 >= args.length) throw syntaxError();
    const value = argument(args, at + 1);
    if (option === 'count') count = countArgument(value);
    else if (option === 'match') glob = parsePattern(value);
    else if (option === 'type') type = word(value);
    else throw syntaxError();
    if (count < 1) throw new ArgumentError(SYNTAX_ERROR);
  }
  return { cursor, count: Math.min(count, limits.scanCountMax), glob, type };
}

/** Undefined for the pattern that matches every key. */
function parsePattern(pattern: Buffer): Glob | undefined {
  const glob = patternArgument(pattern);
  return isAnything(glob) ? undefined : glob;
}

/**
 * Reads `count` records, fewer where keys are long, and the rest of those that share the last one's
 * hash. A cursor before this partition's slots starts at the first, one behind them comes back as it is.
 */
function* runScan(_view: View, request: ScanRequest, context: RunContext): Slices<Reply> {
  const { lastSlot, nowMs } = context;
  const start = positionOf(request.cursor, context);
  if (start.slot > lastSlot) return scanReply(start, EMPTY_ARRAY, context);
  const keys = new ReplyPile('array', 'a narrower MATCH');
  let range = keyRange(start.slot, start.hash, lastSlot);
  let read = 0;
  /** A page ends early where keys are long. */
  let bytes = 0;
  let last: KeyPlace | undefined;
  for (;;) {
    const limit = Math.max(1, request.count - read + 1);
    const pairs = yield { ...range, limit };
    if (pairs.length === 0)
      return scanReply({ slot: lastSlot + 1, hash: 0 }, keys.reply(), context);
    for (const [encoded, value] of pairs) {
      const place = decodeKey(encoded);
      const sameHash = last?.slot === place.slot && last.hash === place.hash;
      const full = read >= request.count || bytes > limits.batchReplyBytes;
      if (full && !sameHash) return scanReply(place, keys.reply(), context);
      if (isWanted(place, encoded, value, request, nowMs)) {
        keys.add(bulk(place.key));
        bytes += place.key.length;
      }
      read++;
      last = place;
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

function isWanted(
  place: KeyPlace,
  encoded: Buffer,
  value: Buffer,
  { glob, type }: ScanRequest,
  nowMs: number,
): boolean {
  const header = decodeHeader(encoded, value);
  if (isExpired(encoded, header, nowMs)) return false;
  if (type !== undefined && typeNameOf(header.type).toLowerCase() !== type) return false;
  return glob === undefined || matchesGlob(glob, place.key);
}

function scanReply(next: ScanPosition, keys: Reply, share: KeyShare): Reply {
  return array([bulk(cursorOf(next, share)), keys]);
}

/** KEYS pattern */
function* runKeys(_view: View, glob: Glob | undefined, context: RunContext): Slices<Reply> {
  const { firstSlot, lastSlot, nowMs } = context;
  const pile = new ReplyPile('array', 'SCAN');
  let range = keyRange(firstSlot, 0, lastSlot);
  for (;;) {
    const pairs = yield range;
    if (pairs.length === 0) return pile.reply();
    for (const [encoded, value] of pairs) {
      const { key } = decodeKey(encoded);
      if (glob && !matchesGlob(glob, key)) continue;
      if (!isExpired(encoded, decodeHeader(encoded, value), nowMs)) pile.add(bulk(key));
    }
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
}

/** RANDOMKEY: uniform in a small partition; in a large one the first key after a random place. */
function* runRandomKey(view: View, _: undefined, context: RunContext): Slices<Reply> {
  const { firstSlot, lastSlot, nowMs } = context;
  const small = readCounts(view).keys <= RANDOM_WHOLE_MAX;
  const whole = keyRange(firstSlot, 0, lastSlot);
  const live: Buffer[] = [];
  let wrapped = small;
  let range = small ? whole : { ...randomPlace(context), limit: RANDOM_SLICE };
  for (;;) {
    const pairs = yield range;
    for (const [encoded, value] of pairs) {
      if (!isExpired(encoded, decodeHeader(encoded, value), nowMs))
        live.push(decodeKey(encoded).key);
    }
    if (!small && live.length > 0) return bulk(live[0]!);
    if (pairs.length > 0) {
      range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
    } else if (wrapped) {
      const chosen = live[Math.floor(context.random() * live.length)];
      return chosen ? bulk(chosen) : NULL;
    } else {
      wrapped = true;
      range = whole;
    }
  }
}

function randomPlace({ firstSlot, lastSlot, random }: RunContext): KeyRange {
  const slot = firstSlot + Math.floor(random() * (lastSlot - firstSlot + 1));
  return keyRange(slot, Math.floor(random() * HASHES), lastSlot);
}

/** DBSIZE: as Redis, it counts keys that are expired but not yet deleted. */
function runDbSize(view: View): Reply {
  return integer(readCounts(view).keys);
}

/** FLUSHALL [ASYNC | SYNC], FLUSHDB [ASYNC | SYNC] */
function parseFlush(args: readonly Buffer[]): undefined {
  const mode = args.length > 1 ? word(argument(args, 1)) : 'sync';
  if (args.length > 2 || (mode !== 'sync' && mode !== 'async')) throw syntaxError();
}

function* runFlush(view: WriteView): Slices<Reply> {
  let range = redisDataRange();
  for (;;) {
    const pairs = yield range;
    if (pairs.length === 0) break;
    for (const [encoded] of pairs) view.del(encoded);
    range = { ...range, gte: keyAfter(pairs.at(-1)![0]) };
  }
  writeCounts(view, { keys: 0, expires: 0 });
  return OK;
}

const column = { keys: NO_KEYS, group: 'generic', categories: ['keyspace'] };
const flushRow = {
  ...column,
  arity: -1,
  flags: ['write'],
  categories: ['keyspace', 'dangerous'],
  group: 'server',
  since: '1.0.0',
  fanOut: { over: 'partitions', merge: 'ok' },
  empties: true,
  parse: parseFlush,
  run: runFlush,
} as const;

export const scanCommands: readonly Command[] = [
  read({
    ...column,
    name: 'scan',
    arity: -2,
    flags: ['readonly'],
    since: '2.8.0',
    summary: 'Iterates over the key names in the database.',
    fanOut: { over: 'partitions', merge: 'scan' },
    parse: parseScan,
    run: runScan,
  }),
  read({
    ...column,
    name: 'keys',
    arity: 2,
    flags: ['readonly'],
    categories: ['keyspace', 'dangerous'],
    since: '1.0.0',
    summary: 'Returns all key names that match a pattern.',
    fanOut: { over: 'partitions', merge: 'concat' },
    parse: (args) => parsePattern(argument(args, 1)),
    run: runKeys,
  }),
  read({
    ...column,
    name: 'randomkey',
    arity: 1,
    flags: ['readonly'],
    since: '1.0.0',
    summary: 'Returns a random key name from the database.',
    fanOut: { over: 'partitions', merge: 'any' },
    parse: () => undefined,
    run: runRandomKey,
  }),
  read({
    ...column,
    name: 'dbsize',
    arity: 1,
    flags: ['readonly', 'fast'],
    group: 'server',
    since: '1.0.0',
    summary: 'Returns the number of keys in the database.',
    fanOut: { over: 'partitions', merge: 'sum' },
    singlePoint: true,
    parse: () => undefined,
    run: runDbSize,
  }),
  write({ ...flushRow, name: 'flushall', summary: 'Removes all keys of the namespace.' }),
  write({ ...flushRow, name: 'flushdb', summary: 'Removes all keys of the namespace.' }),
];
