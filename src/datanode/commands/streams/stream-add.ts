/** What streams are made of: XADD, XDEL, XLEN, XSETID, XTRIM. */
import { must } from '../../../common/assert.ts';
import { limits } from '../../../common/limits.ts';
import { findKey } from '../../encoding/keyspace/keyspace.ts';
import {
  compareIds,
  formatStreamId,
  idAfter,
  isBeforeTime,
  MAX_STREAM_ID,
  MIN_STREAM_ID,
  type StreamId,
  streamId,
  streamIdAt,
} from '../../encoding/records/stream-id.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import {
  newStream,
  type OpenStream,
  openFound,
  openStream,
  readStream,
  saveStream,
} from '../../encoding/streams/stream.ts';
import {
  appendEntry,
  deleteEntry,
  edgeEntry,
  findFirst,
} from '../../encoding/streams/stream-entries.ts';
import { type FatedTrim, trimStream } from '../../encoding/streams/stream-trimming.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { bulk, error, integer, NULL, OK, type Reply } from '../../resp/reply.ts';
import { FRAME_BYTES } from '../../resp/reply-bytes.ts';
import { isAsLaterRedis } from '../rows/apply-versions.ts';
import {
  argument,
  countArgument,
  NO_SUCH_KEY,
  syntaxError,
  WRONG_TYPE,
  word,
  wrongArity,
} from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  type RunContext,
  type RunResult,
  read,
  write,
} from '../rows/command.ts';
import { inSteps } from '../rows/in-steps.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { INVALID_ID, idArgument, type NewId, newIdArgument } from './stream-args.ts';
import { fromStreams, streamColumn } from './stream-rows.ts';
import { isNoWord, type Kept, KeptOptions, trimAppliesFrom, trimOf } from './stream-trim.ts';

const NOTHING = integer(0);
/** What a reply has around the fields of an entry: its ID, arrays, the key. */
const ENTRY_FRAME_BYTES = 256;
const TOO_SMALL = error(
  'ERR The ID specified in XADD is equal or smaller than the target stream top item',
);
const EXHAUSTED = error(
  'ERR The stream has exhausted the last possible ID, unable to add more items',
);

interface Add {
  readonly key: Buffer;
  /** NOMKSTREAM: only if the stream exists. */
  readonly existing: boolean;
  readonly id: NewId;
  readonly fields: readonly Buffer[];
  readonly kept: Kept | undefined;
}

/**
 * XADD key [NOMKSTREAM] [KEEPREF | DELREF | ACKED] [MAXLEN | MINID [= | ~] threshold [LIMIT count]] * | id
 * field value …
 */
function parseAdd(args: readonly Buffer[]): Add {
  let options: KeptOptions | undefined;
  let existing = false;
  let at = 2;
  let id: NewId | undefined;
  while (at < args.length && id === undefined) {
    const next = args[at]!;
    if (isNoWord(next)) {
      id = newIdArgument(next);
      at++;
      break;
    }
    options ??= new KeptOptions();
    const behind = options.read(args, at);
    if (behind !== undefined) at = behind;
    else if (word(next) === 'nomkstream') {
      existing = true;
      at++;
    } else {
      id = newIdArgument(next);
      at++;
    }
  }
  const kept = options?.result(false);
  const fields = args.slice(at);
  if (id === undefined || fields.length < 2 || fields.length % 2 !== 0) throw wrongArity('xadd');
  if (id.kind === 'given' && compareIds(id.id, MIN_STREAM_ID) === 0) {
    throw new ArgumentError('ERR The ID specified in XADD must be greater than 0-0');
  }
  if (isTooLarge(fields)) throw new ArgumentError('ERR Elements are too large to be stored');
  return { key: argument(args, 1), existing, id, fields, kept };
}

/** What was added and could not be answered would be stuck: read by nobody, claimed by nobody. */
function isTooLarge(fields: readonly Buffer[]): boolean {
  let bytes = ENTRY_FRAME_BYTES;
  for (const { length } of fields) bytes += length + FRAME_BYTES;
  return bytes > limits.replyBytesMax;
}

function runAdd(view: WriteView, add: Add, { nowMs }: RunContext): RunResult {
  const found = findKey(view, add.key, nowMs);
  const old = openFound(found);
  if (old === 'wrong-type') return WRONG_TYPE;
  if (old === undefined && add.existing) return NULL;
  const stream = old ?? newStream(view, found);
  if (compareIds(stream.lastId, MAX_STREAM_ID) === 0) return EXHAUSTED;
  const id = idOf(add.id, stream.lastId, nowMs);
  if (id === undefined) return TOO_SMALL;
  appendEntry(view, stream, id, add.fields);
  const trim = add.kept && trimOf(stream, add.kept);
  return trim === undefined
    ? endAdd(view, stream, id, 0)
    : atOnce(trimAndEnd(view, stream, id, trim));
}

function* trimAndEnd(
  view: WriteView,
  stream: OpenStream,
  id: StreamId,
  trim: FatedTrim,
): Slices<Reply> {
  return endAdd(view, stream, id, yield* trimStream(view, stream, trim));
}

function endAdd(view: WriteView, stream: OpenStream, id: StreamId, trimmed: number): Reply {
  saveStream(view, stream);
  const { key } = stream.found;
  view.notify?.('stream', 'xadd', key);
  if (trimmed > 0) view.notify?.('stream', 'xtrim', key);
  return bulk(Buffer.from(formatStreamId(id), 'latin1'));
}

/** Undefined where it would not be behind the last. */
function idOf(id: NewId, lastId: StreamId, nowMs: number): StreamId | undefined {
  const chosen = id.kind === 'given' ? id.id : chooseId(id, lastId, nowMs);
  return chosen !== undefined && compareIds(chosen, lastId) > 0 ? chosen : undefined;
}

function chooseId(
  id: Exclude<NewId, { kind: 'given' }>,
  lastId: StreamId,
  nowMs: number,
): StreamId | undefined {
  if (id.kind === 'next') {
    // the clock may stand, or be behind
    return isBeforeTime(lastId, nowMs) ? streamIdAt(nowMs) : idAfter(lastId);
  }
  const { milliseconds } = id;
  if (lastId.readBigUInt64BE(0) !== milliseconds) return streamId(milliseconds, 0n);
  const next = idAfter(lastId);
  return next?.readBigUInt64BE(0) === milliseconds ? next : undefined;
}

/** XDEL key id [id ...] */
function parseDelete(args: readonly Buffer[]) {
  const ids = late(() => args.slice(2).map((arg) => idArgument(arg)));
  return { key: argument(args, 1), ids };
}

function runDelete(
  view: WriteView,
  { key, ids }: ReturnType<typeof parseDelete>,
  { nowMs }: RunContext,
): RunResult {
  const stream = openStream(view, key, nowMs);
  if (stream === undefined) return NOTHING;
  if (stream === 'wrong-type') return WRONG_TYPE;
  if (ids instanceof ArgumentError) return lateReply(ids);
  const before = stream.size;
  return inSteps(
    ids,
    (id) => deleteEntry(view, stream, id),
    () => atOnce(endDelete(view, stream, before - stream.size)),
  );
}

function* endDelete(view: WriteView, stream: OpenStream, deleted: number): Slices<Reply> {
  if (deleted === 0) return NOTHING;
  yield* findFirst(view, stream);
  saveStream(view, stream);
  view.notify?.('stream', 'xdel', stream.found.key);
  return integer(deleted);
}

/** XLEN key */
function runLen(view: View, key: Buffer, { nowMs }: RunContext): Reply {
  const stream = readStream(view, key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  return integer(stream?.size ?? 0);
}

/** XTRIM key MAXLEN | MINID [= | ~] threshold [LIMIT count] [KEEPREF | DELREF | ACKED] */
function parseTrim(args: readonly Buffer[]) {
  const options = new KeptOptions();
  for (let at = 2; at < args.length; ) {
    const behind = options.read(args, at);
    if (behind === undefined) throw syntaxError();
    at = behind;
  }
  const kept = must(options.result(true), 'what is kept is required');
  return { key: argument(args, 1), kept };
}

function runTrim(
  view: WriteView,
  { key, kept }: ReturnType<typeof parseTrim>,
  { nowMs }: RunContext,
): RunResult {
  const stream = openStream(view, key, nowMs);
  if (stream === undefined) return NOTHING;
  if (stream === 'wrong-type') return WRONG_TYPE;
  return atOnce(trimOnly(view, stream, kept));
}

function* trimOnly(view: WriteView, stream: OpenStream, kept: Kept): Slices<Reply> {
  const trim = trimOf(stream, kept);
  const trimmed = trim === undefined ? 0 : yield* trimStream(view, stream, trim);
  if (trimmed === 0) return NOTHING;
  saveStream(view, stream);
  view.notify?.('stream', 'xtrim', stream.found.key);
  return integer(trimmed);
}

interface SetId {
  readonly key: Buffer;
  readonly id: StreamId;
  readonly entriesAdded: number | undefined;
  readonly maxDeletedId: StreamId | undefined;
}

/** Groups would be told a lag that is not theirs. */
const BELOW_DELETED = error(
  'ERR The ID specified in XSETID is smaller than current max_deleted_entry_id',
);

/** XSETID key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id] */
function parseSetId(args: readonly Buffer[]): SetId {
  const id = idArgument(argument(args, 2));
  let entriesAdded: number | undefined;
  let maxDeletedId: StreamId | undefined;
  for (let at = 3; at < args.length; at += 2) {
    const value = args[at + 1];
    const option = value && word(args[at]!);
    if (option === 'entriesadded') entriesAdded = addedArgument(value!);
    else if (option === 'maxdeletedid') maxDeletedId = idArgument(value!);
    else throw syntaxError();
    if (maxDeletedId !== undefined && compareIds(id, maxDeletedId) < 0) {
      throw new ArgumentError(
        'ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id',
      );
    }
  }
  return { key: argument(args, 1), id, entriesAdded, maxDeletedId };
}

function addedArgument(arg: Buffer): number {
  const added = countArgument(arg);
  if (added < 0) throw new ArgumentError('ERR entries_added must be positive');
  return added;
}

function runSetId(view: WriteView, request: SetId, context: RunContext): RunResult {
  const stream = openStream(view, request.key, context.nowMs);
  if (stream === undefined) return NO_SUCH_KEY;
  if (stream === 'wrong-type') return WRONG_TYPE;
  if (isAsLaterRedis(context) && compareIds(request.id, stream.maxDeletedId) < 0)
    return BELOW_DELETED;
  return atOnce(setId(view, stream, request));
}

function* setId(
  view: WriteView,
  stream: OpenStream,
  { id, entriesAdded, maxDeletedId }: SetId,
): Slices<Reply> {
  const last = yield* edgeEntry(stream, 'last');
  if (last !== undefined && compareIds(id, last.id) < 0) {
    return error('ERR The ID specified in XSETID is smaller than the target stream top item');
  }
  if (last !== undefined && entriesAdded !== undefined && stream.size > entriesAdded) {
    return error(
      'ERR The entries_added specified in XSETID is smaller than the target stream length',
    );
  }
  stream.lastId = id;
  stream.entriesAdded = entriesAdded ?? stream.entriesAdded;
  if (maxDeletedId !== undefined && compareIds(maxDeletedId, MIN_STREAM_ID) > 0) {
    stream.maxDeletedId = maxDeletedId;
  }
  saveStream(view, stream);
  view.notify?.('stream', 'xsetid', stream.found.key);
  return OK;
}

export const streamAddCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xadd',
    arity: -5,
    flags: ['write', 'denyoom', 'fast'],
    since: '5.0.0',
    summary: 'Appends an entry to a stream. Creates the key if it doesn’t exist.',
    appliesFrom: trimAppliesFrom,
    refusedBefore: true,
    refusedAs: INVALID_ID,
    parse: parseAdd,
    run: runAdd,
  }),
  write({
    ...streamColumn,
    name: 'xdel',
    arity: -3,
    flags: ['write', 'fast'],
    since: '5.0.0',
    summary: 'Removes entries from a stream and returns how many there were.',
    appliesFrom: fromStreams,
    parse: parseDelete,
    run: runDelete,
  }),
  read({
    ...streamColumn,
    name: 'xlen',
    arity: 2,
    flags: ['readonly', 'fast'],
    since: '5.0.0',
    summary: 'Returns the number of entries in a stream.',
    singlePoint: true,
    parse: (args) => argument(args, 1),
    run: runLen,
  }),
  write({
    ...streamColumn,
    name: 'xsetid',
    arity: -3,
    flags: ['write', 'denyoom', 'fast'],
    since: '5.0.0',
    summary: 'Sets the last ID of a stream, and what it tells of entries before.',
    appliesFrom: fromStreams,
    hasChanged: true,
    parse: parseSetId,
    run: runSetId,
  }),
  write({
    ...streamColumn,
    name: 'xtrim',
    arity: -4,
    flags: ['write'],
    since: '5.0.0',
    summary: 'Removes entries from the beginning of a stream.',
    appliesFrom: trimAppliesFrom,
    refusedBefore: true,
    parse: parseTrim,
    run: runTrim,
  }),
];
