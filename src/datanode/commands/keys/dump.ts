/** Values as Redis serializes them: DUMP, RESTORE. */
import { limits } from '../../../common/limits.ts';
import { SteadyList } from '../../../common/steady-list.ts';
import { JsonError } from '../../encoding/json/json-value.ts';
import { type Found, findKey } from '../../encoding/keyspace/keyspace.ts';
import { decodeRdbValue, isRdbStream, type RdbValue } from '../../encoding/rdb/rdb-decode.ts';
import {
  type DumpedType,
  type DumpTimes,
  encodeRdbHead,
  encodeRdbString,
  longestOf,
  rdbTypeByte,
} from '../../encoding/rdb/rdb-elements.ts';
import { RDB_MODULE_TYPE } from '../../encoding/rdb/rdb-json.ts';
import { encodeRdbJson, RDB_JSON_TYPE_BYTE } from '../../encoding/rdb/rdb-json-dump.ts';
import {
  openRdbPayload,
  rdbVersionOf,
  rdbVersions,
  sealRdbPayload,
} from '../../encoding/rdb/rdb-payload.ts';
import { RdbBoundError, RdbError } from '../../encoding/rdb/rdb-reader.ts';
import { storeRdbValue } from '../../encoding/rdb/rdb-store.ts';
import { dumpStream } from '../../encoding/rdb/rdb-stream-dump.ts';
import { earliestDeadline, placeOf, walkEncoded } from '../../encoding/rdb/rdb-walk.ts';
import { isCollectionType } from '../../encoding/records/element-key.ts';
import type { Header } from '../../encoding/records/header.ts';
import { eachItem, type Slices } from '../../encoding/steps/slices.ts';
import { type Stream, streamOf } from '../../encoding/streams/stream.ts';
import { parseInteger } from '../../encoding/strings/string.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, NULL, OK, type Reply } from '../../resp/reply.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import {
  argument,
  deadlineOf,
  integerArgument,
  NOT_AN_INTEGER,
  syntaxError,
  TOO_LONG,
  word,
} from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  FIRST_KEY,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { deleteKey } from '../rows/key-events.ts';

const DUMP_TOO_LARGE = error(
  `ERR the serialized value would have more than ${limits.requestBytesMax} bytes`,
);
const BUSY_KEY = error('BUSYKEY Target key name already exists.');
const NOT_INTEGER = error(NOT_AN_INTEGER);
const BAD_TTL = error('ERR Invalid TTL value, must be >= 0');
const BAD_PAYLOAD = error('ERR DUMP payload version or checksum are wrong');
const BAD_DATA = error('ERR Bad data format');

/** DUMP key */
function runDump(view: View, key: Buffer, context: RunContext): RunResult {
  const found = findKey(view, key, context.nowMs);
  const { live } = found;
  if (!live) return NULL;
  if (live.type === 'hash') return dumpHash(found, live, context);
  const times = { nowMs: context.nowMs, earliestMs: undefined };
  if (live.type === 'stream') return dumpWhole(streamOf(found, live));
  if (isCollectionType(live.type)) return dumpCollection(found, live, live.type, times);
  if (live.type === 'json')
    return atOnce(sealed([RDB_JSON_TYPE_BYTE, ...encodeRdbJson(live.body)]));
  return atOnce(sealed([rdbTypeByte('string'), ...encodeRdbString(live.body)]));
}

function* sealed(parts: Iterable<Buffer>, version?: number): Slices<Reply> {
  return bulk(yield* sealRdbPayload(parts, version));
}

/** With the deadlines of its fields, if one has any and the reader is to know of them. */
function* dumpHash(found: Found, live: Header, context: RunContext): Slices<Reply> {
  const { nowMs, rdbVersion = rdbVersions.withFieldDeadlines } = context;
  const isTold = rdbVersion >= rdbVersions.withFieldDeadlines;
  const earliestMs = isTold ? yield* earliestDeadline(found, live, nowMs) : undefined;
  return yield* dumpCollection(found, live, 'hash', { nowMs, earliestMs });
}

function* dumpCollection(
  found: Found,
  live: Header,
  type: DumpedType,
  times: DumpTimes,
): Slices<Reply> {
  const parts = new SteadyList<Buffer>();
  let [count, bytes] = [0, 0];
  yield* walkEncoded(placeOf(found, live), type, times, (elements) => {
    count += elements.count;
    bytes += elements.bytes.length;
    parts.push(elements.bytes);
    return bytes > limits.requestBytesMax;
  });
  if (bytes > limits.requestBytesMax) return DUMP_TOO_LARGE;
  if (count === 0) return NULL;
  const { earliestMs } = times;
  const version = earliestMs === undefined ? undefined : rdbVersions.withFieldDeadlines;
  return yield* sealed(joined([encodeRdbHead(type, count, earliestMs), parts]), version);
}

function* dumpWhole(stream: Stream): Slices<Reply> {
  const parts = yield* dumpStream(stream, limits.requestBytesMax);
  return parts === undefined ? DUMP_TOO_LARGE : yield* sealed(joined(parts));
}

/** One behind the other, each time it is gone through. */
function joined(several: readonly Iterable<Buffer>[]): Iterable<Buffer> {
  return {
    *[Symbol.iterator]() {
      for (const parts of several) yield* parts;
    },
  };
}

interface RestoreRequest {
  readonly key: Buffer;
  /** Milliseconds as given: checked when it is known that the key may be written (Redis's order). */
  readonly ttl: Buffer;
  readonly payload: Buffer;
  readonly replace: boolean;
  readonly absolute: boolean;
}

/** RESTORE key ttl serialized-value [REPLACE] [ABSTTL] [IDLETIME seconds] [FREQ frequency] */
function parseRestore(args: readonly Buffer[]): RestoreRequest {
  let [replace, absolute, idle, frequency] = [false, false, false, false];
  for (let at = 4; at < args.length; at++) {
    const option = word(argument(args, at));
    const more = at + 1 < args.length;
    if (option === 'replace') {
      replace = true;
    } else if (option === 'absttl') {
      absolute = true;
    } else if (option === 'idletime' && more && !frequency) {
      if (integerArgument(argument(args, ++at)) < 0) {
        throw new ArgumentError('ERR Invalid IDLETIME value, must be >= 0');
      }
      idle = true;
    } else if (option === 'freq' && more && !idle) {
      const value = integerArgument(argument(args, ++at));
      if (value < 0 || value > 255) {
        throw new ArgumentError('ERR Invalid FREQ value, must be >= 0 and <= 255');
      }
      frequency = true;
    } else {
      throw syntaxError();
    }
  }
  const [key, ttl, payload] = [argument(args, 1), argument(args, 2), argument(args, 3)];
  return { key, ttl, payload, replace, absolute };
}

function* runRestore(
  view: WriteView,
  request: RestoreRequest,
  { nowMs, rdbVersion = rdbVersions.withFieldDeadlines, applyVersion }: RunContext,
): Slices<Reply> {
  const found = findKey(view, request.key, nowMs);
  if (found.live && !request.replace) return BUSY_KEY;
  const ttl = parseInteger(request.ttl);
  if (ttl === undefined) return NOT_INTEGER;
  if (ttl < 0) return BAD_TTL;
  const body = yield* openRdbPayload(request.payload, rdbVersion);
  if (body === undefined) return BAD_PAYLOAD;
  const knowsStreams = (applyVersion ?? applyVersions.streams) >= applyVersions.streams;
  if (isRdbStream(body) && !knowsStreams) return BAD_DATA;
  if (body[0] === RDB_MODULE_TYPE && (applyVersion ?? applyVersions.json) < applyVersions.json) {
    return BAD_DATA;
  }
  const value = yield* decoded(body);
  if ('kind' in value) return value;
  if ((yield* longestOf(value)) > limits.valueBytesMax) return TOO_LONG;
  const expiry = { value: ttl, unit: 'milliseconds', relative: !request.absolute } as const;
  // A deadline that no number holds: Redis's wraps around into the past.
  const deadlineMs = ttl === 0 ? 0 : (deadlineOf(expiry, nowMs, false) ?? nowMs);
  if ((ttl !== 0 && deadlineMs <= nowMs) || (yield* hasExpired(value, nowMs))) {
    deleteKey(view, found);
    return OK;
  }
  try {
    yield* storeRdbValue(view, found, value, { nowMs, deadlineMs });
  } catch (failure) {
    if (failure instanceof JsonError) return BAD_DATA;
    throw failure;
  }
  if (found.live) view.notify?.('new', 'new', request.key);
  view.notify?.('generic', 'restore', request.key);
  return OK;
}

/** All of its fields have. */
function* hasExpired(value: RdbValue, nowMs: number): Slices<boolean> {
  if (value.type !== 'hash' || !value.mayExpire) return false;
  let live = 0;
  yield* eachItem(value.elements, ([, , deadlineMs]) => {
    if (deadlineMs === 0 || deadlineMs > nowMs) live++;
  });
  return live === 0;
}

function* decoded(body: Buffer): Slices<RdbValue | Reply> {
  try {
    return yield* decodeRdbValue(body);
  } catch (failure) {
    if (failure instanceof RdbBoundError) {
      return error(`ERR the value has more than ${failure.message}, restore it in parts`);
    }
    if (failure instanceof RdbError) return BAD_DATA;
    throw failure;
  }
}

/** Builds that know nothing of streams, or of deadlines of fields, refuse a payload that may have some. */
function restoreAppliesFrom(line: readonly Buffer[]): number {
  const payload = line[3];
  if (payload === undefined) return applyVersions.plain;
  if (payload[0] === RDB_MODULE_TYPE) return applyVersions.json;
  if (isRdbStream(payload)) return applyVersions.streams;
  const newer = rdbVersionOf(payload) === rdbVersions.withFieldDeadlines;
  return newer ? applyVersions.fieldDeadlines : applyVersions.plain;
}

const column = { categories: ['keyspace'], group: 'generic', keys: FIRST_KEY, since: '2.6.0' };

const restore = {
  ...column,
  arity: -4,
  categories: ['keyspace', 'dangerous'],
  summary: 'Creates a key from a value that DUMP returned, here or in Redis.',
  refusedBefore: 'itself',
  parse: parseRestore,
  run: runRestore,
} as const;

export const dumpCommands: readonly Command[] = [
  read({
    ...column,
    name: 'dump',
    arity: 2,
    flags: ['readonly'],
    summary: 'Returns the value of a key as Redis serializes it.',
    appliesFrom: () => applyVersions.fieldDeadlines,
    parse: (args) => argument(args, 1),
    run: runDump,
  }),
  write({
    ...restore,
    name: 'restore',
    flags: ['write', 'denyoom'],
    appliesFrom: restoreAppliesFrom,
  }),
  // what MIGRATE of a node in a Redis Cluster sends in the place of RESTORE
  write({
    ...restore,
    name: 'restore-asking',
    flags: ['write', 'denyoom', 'asking'],
    group: 'server',
    since: '3.0.0',
    summary: 'RESTORE, as nodes of a Redis Cluster send it to where a key moves.',
    appliesFrom: (line) => Math.max(applyVersions.comparisons, restoreAppliesFrom(line)),
  }),
];
