/** What consumers were given and have not acknowledged: XACK, XPENDING. */

import { eachPair } from '../../encoding/collections/member-walk.ts';
import { MAX_STREAM_ID, MIN_STREAM_ID, type StreamId } from '../../encoding/records/stream-id.ts';
import { decodeIdAtEnd } from '../../encoding/records/stream-key.ts';
import type { Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { Deliveries, readPending } from '../../encoding/streams/stream-deliveries.ts';
import {
  ConsumerNames,
  eachConsumer,
  type Group,
  rangeOfPending,
  readConsumer,
  readGroup,
} from '../../encoding/streams/stream-groups.ts';
import { decodePending, type PendingState } from '../../encoding/streams/stream-pending.ts';
import type { View, WriteView } from '../../encoding/txn/view.ts';
import { type KeyRange, limited } from '../../engine/engine.ts';
import {
  array,
  bulk,
  EMPTY_ARRAY,
  integer,
  NULL,
  NULL_ARRAY,
  type Reply,
} from '../../resp/reply.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { argument, countArgument, syntaxError, WRONG_TYPE, word } from '../rows/args.ts';
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
import { idArgument, intervalEnd, intervalStart } from './stream-args.ts';
import { noKeyOrGroup } from './stream-errors.ts';
import { idReply } from './stream-replies.ts';
import { fromStreams, streamColumn } from './stream-rows.ts';

const NOTHING = integer(0);

/** XACK key group id [id ...] */
function parseAck(args: readonly Buffer[]) {
  const ids = late(() => args.slice(3).map((arg) => idArgument(arg)));
  return { key: argument(args, 1), group: argument(args, 2), ids };
}

function runAck(
  view: WriteView,
  { key, group: name, ids }: ReturnType<typeof parseAck>,
  { nowMs }: RunContext,
): RunResult {
  const stream = readStream(view, key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = stream && readGroup(view, stream, name);
  if (group === undefined) return NOTHING;
  if (ids instanceof ArgumentError) return lateReply(ids);
  const deliveries = new Deliveries(view, stream as Stream, group);
  let acknowledged = 0;
  const acknowledge = (id: StreamId) => {
    const state = deliveries.pendingAt(id);
    if (state === undefined) return;
    deliveries.drop(id, state);
    acknowledged++;
  };
  return inSteps(ids, acknowledge, () => atOnce(endAck(deliveries, acknowledged)));
}

function* endAck(deliveries: Deliveries, acknowledged: number): Slices<Reply> {
  if (acknowledged === 0) return NOTHING;
  yield* deliveries.findEarliest();
  deliveries.save();
  return integer(acknowledged);
}

interface Pending {
  readonly key: Buffer;
  readonly group: Buffer;
  /** Undefined: only what there is in all. */
  readonly range: PendingRange | undefined;
}

interface PendingRange {
  readonly start: StreamId;
  readonly end: StreamId;
  readonly count: number;
  readonly minIdleMs: number;
  readonly consumer: Buffer | undefined;
}

/** XPENDING key group [[IDLE min-idle-time] start end count [consumer]] */
function parsePending(args: readonly Buffer[]): Pending {
  const { length } = args;
  if (length !== 3 && (length < 6 || length > 9)) throw syntaxError();
  const range = length === 3 ? undefined : parsePendingRange(args);
  return { key: argument(args, 1), group: argument(args, 2), range };
}

function parsePendingRange(args: readonly Buffer[]): PendingRange {
  const hasIdle = word(args[3]!) === 'idle';
  const minIdleMs = hasIdle ? countArgument(args[4]!) : 0;
  if (hasIdle && args.length < 8) throw syntaxError();
  const at = hasIdle ? 5 : 3;
  const count = Math.max(0, countArgument(argument(args, at + 2)));
  const start = intervalStart(argument(args, at));
  const end = intervalEnd(argument(args, at + 1));
  return { start, end, count, minIdleMs, consumer: args[at + 3] };
}

function runPending(view: View, { key, group: name, range }: Pending, { nowMs }: RunContext) {
  const stream = readStream(view, key, nowMs);
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = stream && readGroup(view, stream, name);
  if (group === undefined) return noKeyOrGroup(key, name);
  return range === undefined
    ? pendingInAll(stream as Stream, group)
    : pendingBetween(view, stream as Stream, group, range, nowMs);
}

function* pendingInAll(stream: Stream, group: Group): Slices<Reply> {
  if (group.pending === 0) return array([NOTHING, NULL, NULL, NULL_ARRAY]);
  const { place } = stream;
  const all = rangeOfPending(place, group, MIN_STREAM_ID, MAX_STREAM_ID);
  const [first] = yield limited(all, 1);
  const [last] = yield limited(all, 1, true);
  const pile = new ReplyPile('array', 'ranges of IDs');
  yield* eachConsumer(place, group, ({ name, pending }) => {
    if (pending > 0) pile.add(array([bulk(name), bulk(String(pending))]));
  });
  const edge = (pair: typeof first) =>
    pair === undefined ? NULL : idReply(decodeIdAtEnd(pair[0]));
  return array([integer(group.pending), edge(first), edge(last), pile.reply()]);
}

function* pendingBetween(
  view: View,
  stream: Stream,
  group: Group,
  { start, end, count, minIdleMs, consumer }: PendingRange,
  nowMs: number,
): Slices<Reply> {
  const { place } = stream;
  const own = consumer && readConsumer(view, place, group, consumer);
  if ((consumer !== undefined && own === undefined) || Buffer.compare(start, end) > 0) {
    return EMPTY_ARRAY;
  }
  const names = new ConsumerNames(view, place, group);
  const pile = new ReplyPile('array', 'a smaller count');
  const range = rangeOfPending(place, group, start, end, own?.number);
  const stateOf = (key: Buffer, value: Buffer) =>
    own ? readPending(view, place, group.number, decodeIdAtEnd(key)) : decodePending(key, value);
  let left = count;
  yield* eachPending(range, left, (key, value) => {
    if (left === 0) return true;
    const state = stateOf(key, value);
    const idleMs = state && Math.max(0, nowMs - state.deliveredMs);
    if (state === undefined || idleMs! < minIdleMs) return undefined;
    left--;
    pile.add(pendingReply(decodeIdAtEnd(key), names.of(state.consumer), idleMs!, state));
    return undefined;
  });
  return pile.reply();
}

function* eachPending(
  range: KeyRange,
  count: number,
  take: (key: Buffer, value: Buffer) => true | undefined,
): Slices<void> {
  if (count > 0) yield* eachPair(range, ([key, value]) => take(key, value));
}

function pendingReply(id: StreamId, name: Buffer, idleMs: number, state: PendingState): Reply {
  return array([idReply(id), bulk(name), integer(idleMs), integer(state.deliveries)]);
}

export const streamPendingCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xack',
    arity: -4,
    flags: ['write', 'fast'],
    since: '5.0.0',
    summary: 'Acknowledges entries that a consumer of a group was given.',
    appliesFrom: fromStreams,
    parse: parseAck,
    run: runAck,
  }),
  read({
    ...streamColumn,
    name: 'xpending',
    arity: -3,
    flags: ['readonly'],
    since: '5.0.0',
    summary: 'Returns what the consumers of a group were given and have not acknowledged.',
    parse: parsePending,
    run: runPending,
  }),
];
