/** Entries of streams by their IDs: XRANGE, XREVRANGE, XREAD. */
import {
  compareIds,
  idAfter,
  MAX_STREAM_ID,
  type StreamId,
} from '../../encoding/records/stream-id.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import {
  edgeEntry,
  rangeOfEntries,
  readEntry,
  walkEntries,
} from '../../encoding/streams/stream-entries.ts';
import type { View } from '../../encoding/txn/view.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { array, bulk, EMPTY_ARRAY, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyPile, ReplyRoom } from '../../resp/reply-pile.ts';
import { isAsLaterRedis } from '../rows/apply-versions.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
import { atOnce } from '../rows/at-once.ts';
import {
  ArgumentError,
  type Command,
  type Halves,
  NO_KEYS,
  type RunContext,
  type RunResult,
  read,
} from '../rows/command.ts';
import { lateReply } from '../rows/late-error.ts';
import { intervalEnd, intervalStart, invalid } from './stream-args.ts';
import { parseRead, readAppliesFrom, type StreamRead } from './stream-read-args.ts';
import { entryReply } from './stream-replies.ts';
import { keysOfRead, streamColumn, streamKeys } from './stream-rows.ts';
import { streamReading } from './stream-waits.ts';

interface Range {
  readonly key: Buffer;
  readonly start: StreamId;
  readonly end: StreamId;
  readonly reverse: boolean;
  /** Infinite: all. */
  readonly count: number;
}

/** XRANGE key start end [COUNT count], XREVRANGE key end start [COUNT count] */
function parseRange(reverse: boolean): (args: readonly Buffer[]) => Range {
  return (args) => {
    const start = intervalStart(argument(args, reverse ? 3 : 2));
    const end = intervalEnd(argument(args, reverse ? 2 : 3));
    let count = Number.POSITIVE_INFINITY;
    for (let at = 4; at < args.length; at += 2) {
      if (word(args[at]!) !== 'count' || at + 1 === args.length) throw syntaxError();
      count = Math.max(0, countArgument(args[at + 1]!));
    }
    return { key: argument(args, 1), start, end, reverse, count };
  };
}

function runRange(view: View, request: Range, { nowMs }: RunContext): RunResult {
  const { key, start, end, reverse, count } = request;
  const stream = readStream(view, key, nowMs);
  if (stream === undefined) return EMPTY_ARRAY;
  if (stream === 'wrong-type') return WRONG_TYPE;
  if (count === 0) return NULL_ARRAY;
  const id = likelyOnly(stream, request);
  const fields = id && readEntry(view, stream, id);
  if (fields !== undefined) return array([entryReply({ id: id!, fields })]);
  return entriesReply(rangeOfEntries(stream, start, end, reverse), count);
}

/** The only entry that is asked for, if it is there: looked up, it costs no pass of the loop. */
function likelyOnly(stream: Stream, { start, end, reverse, count }: Range): StreamId | undefined {
  if (start.equals(end)) return start;
  if (count !== 1) return undefined;
  const id = reverse ? stream.lastId : stream.firstId;
  return compareIds(start, id) <= 0 && compareIds(id, end) <= 0 ? id : undefined;
}

function* entriesReply(range: KeyRange | undefined, count: number): Slices<Reply> {
  const pile = new ReplyPile('array', 'a smaller COUNT');
  yield* walkEntries(range, count, (entry) => pile.add(entryReply(entry)));
  return pile.reply();
}

/** XREAD [COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...] */
function runRead(view: View, request: StreamRead, context: RunContext): RunResult {
  return atOnce(readStreams(view, request, context));
}

function* readStreams(view: View, request: StreamRead, context: RunContext): Slices<Reply> {
  const asked: Asked[] = [];
  for (const [at, key] of request.keys.entries()) {
    if (at > 0 && isGlanceDue(at)) yield GLANCE;
    const stream = readStream(view, key, context.nowMs);
    if (stream === 'wrong-type') return WRONG_TYPE;
    const id = request.ids[at]!;
    if (id instanceof ArgumentError) return lateReply(id);
    if (id === 'newest' && !isAsLaterRedis(context)) return lateReply(invalid());
    if (stream === undefined || id === 'last') continue;
    const first = id === 'newest' ? (yield* edgeEntry(stream, 'last'))?.id : idAfter(id);
    if (first !== undefined) asked.push({ key, stream, first });
  }
  return yield* readBehind(asked, request.count);
}

interface Asked {
  readonly key: Buffer;
  readonly stream: Stream;
  readonly first: StreamId;
}

/** Of each stream that has any, its entries from an ID on. */
function* readBehind(asked: readonly Asked[], count: number): Slices<Reply> {
  const room = new ReplyRoom('a smaller COUNT');
  const pairs: [Reply, Reply][] = [];
  let met = 0;
  for (const { key, stream, first } of asked) {
    if (isGlanceDue(++met)) yield GLANCE;
    // most streams that are asked have nothing new
    if (Buffer.compare(first, stream.lastId) > 0) continue;
    const range = rangeOfEntries(stream, first, MAX_STREAM_ID);
    const pile = new ReplyPile('array', 'a smaller COUNT');
    let entries = 0;
    yield* walkEntries(range, count, (entry) => {
      entries++;
      pile.add(entryReply(entry));
    });
    if (entries === 0) continue;
    const reply = pile.reply();
    room.note(key.length + replyBytes(reply));
    pairs.push([bulk(key), reply]);
  }
  return pairs.length === 0 ? NULL_ARRAY : { kind: 'rows', pairs };
}

/** Who waits does so in one partition. */
function halvesOfRead(args: readonly Buffer[]): Halves | undefined {
  return streamReading(args) === undefined ? streamKeys(args) : undefined;
}

export const streamRangeCommands: readonly Command[] = [
  read({
    ...streamColumn,
    name: 'xrange',
    arity: -4,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns the entries of a stream between two IDs.',
    parse: parseRange(false),
    run: runRange,
  }),
  read({
    ...streamColumn,
    name: 'xrevrange',
    arity: -4,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns the entries of a stream between two IDs, the last first.',
    parse: parseRange(true),
    run: runRange,
  }),
  read({
    ...streamColumn,
    name: 'xread',
    arity: -4,
    flags: ['readonly', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: keysOfRead,
    since: '5.0.0',
    summary: 'Returns the entries of streams behind given IDs, and waits for some if asked to.',
    appliesFrom: readAppliesFrom,
    refusedBefore: 'itself',
    parse: parseRead,
    run: runRead,
    fanOut: { over: 'keys', merge: 'rows', halves: halvesOfRead },
    blocking: streamReading,
  }),
];
