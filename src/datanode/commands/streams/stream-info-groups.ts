/** XINFO GROUPS, XINFO CONSUMERS, and what XINFO STREAM FULL tells of them. */
import { eachPair } from '../../encoding/collections/member-walk.ts';
import { MAX_STREAM_ID, MIN_STREAM_ID } from '../../encoding/records/stream-id.ts';
import { decodeIdAtEnd } from '../../encoding/records/stream-key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { readPending } from '../../encoding/streams/stream-deliveries.ts';
import { rangeOfEntries, walkEntries } from '../../encoding/streams/stream-entries.ts';
import {
  type Consumer,
  ConsumerNames,
  eachConsumer,
  eachGroup,
  type Group,
  rangeOfPending,
  readGroup,
} from '../../encoding/streams/stream-groups.ts';
import { decodePending } from '../../encoding/streams/stream-pending.ts';
import { lagOf } from '../../encoding/streams/stream-progress.ts';
import type { View } from '../../encoding/txn/view.ts';
import { array, bulk, integer, NULL, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyPile, ReplyRoom } from '../../resp/reply-pile.ts';
import { argument, NO_SUCH_KEY, WRONG_TYPE } from '../rows/args.ts';
import type { RunContext, RunResult } from '../rows/command.ts';
import { noGroupOf } from './stream-errors.ts';
import { entryReply, idReply, mapReply } from './stream-replies.ts';

const ALL = [MIN_STREAM_ID, MAX_STREAM_ID] as const;

/** XINFO GROUPS key */
export function parseGroupsInfo(args: readonly Buffer[]): Buffer {
  return argument(args, 2);
}

export function runGroupsInfo(view: View, key: Buffer, { nowMs }: RunContext): RunResult {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined) return NO_SUCH_KEY;
  return stream === 'wrong-type' ? WRONG_TYPE : groupsInfo(stream);
}

function* groupsInfo(stream: Stream): Slices<Reply> {
  const pile = new ReplyPile('array', 'fewer groups');
  yield* eachGroup(stream, (group) => {
    pile.add(
      mapReply([
        ['name', bulk(group.name)],
        ['consumers', integer(group.consumers)],
        ['pending', integer(group.pending)],
        ['last-delivered-id', idReply(group.lastId)],
        ['entries-read', countReply(group.entriesRead)],
        ['lag', countReply(lagOf(stream, group))],
      ]),
    );
  });
  return pile.reply();
}

function countReply(count: number | undefined): Reply {
  return count === undefined ? NULL : integer(count);
}

/** XINFO CONSUMERS key group */
export function parseConsumersInfo(args: readonly Buffer[]) {
  return { key: argument(args, 2), group: argument(args, 3) };
}

export function runConsumersInfo(
  view: View,
  { key, group: name }: ReturnType<typeof parseConsumersInfo>,
  { nowMs }: RunContext,
): RunResult {
  const stream = readStream(view, key, nowMs);
  if (stream === undefined) return NO_SUCH_KEY;
  if (stream === 'wrong-type') return WRONG_TYPE;
  const group = readGroup(view, stream, name);
  return group === undefined ? noGroupOf(key, name) : consumersInfo(stream, group, nowMs);
}

function* consumersInfo(stream: Stream, group: Group, nowMs: number): Slices<Reply> {
  const pile = new ReplyPile('array', 'fewer consumers');
  yield* eachConsumer(stream.place, group, ({ name, pending, seenMs, activeMs }) => {
    pile.add(
      mapReply([
        ['name', bulk(name)],
        ['pending', integer(pending)],
        ['idle', integer(Math.max(0, nowMs - seenMs))],
        ['inactive', integer(activeMs === 0 ? NEVER : Math.max(0, nowMs - activeMs))],
      ]),
    );
  });
  return pile.reply();
}

const NEVER = -1;

/** The entries of a stream and its groups, as XINFO STREAM FULL tells them; `count`: 0: all. */
export function* fullInfo(
  view: View,
  stream: Stream,
  count: number,
): Slices<readonly (readonly [string, Reply])[]> {
  const entries = new ReplyPile('array', INSTEAD);
  const most = count === 0 ? Number.POSITIVE_INFINITY : count;
  const range = rangeOfEntries(stream, MIN_STREAM_ID, MAX_STREAM_ID);
  yield* walkEntries(range, most, (entry) => entries.add(entryReply(entry)));
  const room = new ReplyRoom(INSTEAD);
  const met: Group[] = [];
  yield* eachGroup(stream, (group) => {
    room.note(group.name.length);
    met.push(group);
  });
  const groups = new ReplyPile('array', INSTEAD);
  for (const group of met) groups.add(yield* fullGroup({ view, stream, group, most }));
  return [
    ['entries', entries.reply()],
    ['groups', groups.reply()],
  ];
}

const INSTEAD = 'a smaller COUNT';

interface Full {
  readonly view: View;
  readonly stream: Stream;
  readonly group: Group;
  /** Of what is pending, and again for each consumer. */
  readonly most: number;
}

function* fullGroup(full: Full): Slices<Reply> {
  const { stream, group } = full;
  return mapReply([
    ['name', bulk(group.name)],
    ['last-delivered-id', idReply(group.lastId)],
    ['entries-read', countReply(group.entriesRead)],
    ['lag', countReply(lagOf(stream, group))],
    ['pel-count', integer(group.pending)],
    ['pending', yield* fullPending(full)],
    ['consumers', yield* fullConsumers(full)],
  ]);
}

function* fullPending({ view, stream: { place }, group, most }: Full): Slices<Reply> {
  const pile = new ReplyPile('array', INSTEAD);
  if (group.pending === 0) return pile.reply();
  const names = new ConsumerNames(view, place, group);
  let left = most;
  yield* eachPair(rangeOfPending(place, group, ...ALL), ([key, value]) => {
    const { consumer, deliveredMs, deliveries } = decodePending(key, value);
    const times = [integer(deliveredMs), integer(deliveries)];
    pile.add(array([idReply(decodeIdAtEnd(key)), bulk(names.of(consumer)), ...times]));
    return --left === 0;
  });
  return pile.reply();
}

function* fullConsumers(full: Full): Slices<Reply> {
  const room = new ReplyRoom(INSTEAD);
  const consumers: Consumer[] = [];
  yield* eachConsumer(full.stream.place, full.group, (consumer) => {
    room.note(consumer.name.length);
    consumers.push(consumer);
  });
  const pile = new ReplyPile('array', INSTEAD);
  for (let at = 0; at < consumers.length; at++) {
    if (isGlanceDue(at + 1)) yield GLANCE;
    const consumer = consumers[at]!;
    const { name, seenMs, activeMs, pending } = consumer;
    const reply = mapReply([
      ['name', bulk(name)],
      ['seen-time', integer(seenMs)],
      ['active-time', integer(activeMs === 0 ? NEVER : activeMs)],
      ['pel-count', integer(pending)],
      ['pending', yield* fullPendingOf(full, consumer)],
    ]);
    room.note(replyBytes(reply));
    pile.add(reply);
  }
  return pile.reply();
}

function* fullPendingOf(
  { view, stream: { place }, group, most }: Full,
  consumer: Consumer,
): Slices<Reply> {
  const pile = new ReplyPile('array', INSTEAD);
  if (consumer.pending === 0) return pile.reply();
  let left = most;
  const range = rangeOfPending(place, group, ...ALL, consumer.number);
  yield* eachPair(range, ([key]) => {
    const id = decodeIdAtEnd(key);
    const state = readPending(view, place, group.number, id);
    if (state === undefined) return false;
    pile.add(array([idReply(id), integer(state.deliveredMs), integer(state.deliveries)]));
    return --left === 0;
  });
  return pile.reply();
}
