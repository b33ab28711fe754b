/** Consumer groups of a stream: how they are found, made and removed, and who is in them. */
import { must } from '../../../common/assert.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { eachPair, type Take } from '../collections/member-walk.ts';
import type { CollectionPlace } from '../records/element-key.ts';
import { corruptRecord } from '../records/record.ts';
import { compareIds, MAX_STREAM_ID, MIN_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import {
  allPendingRange,
  consumerNameRange,
  consumerPendingRange,
  consumerRange,
  decodeConsumerName,
  decodeGroupName,
  decodeIdAtEnd,
  encodeConsumerKey,
  encodeConsumerNameKey,
  encodeGroupKey,
  encodePendingKey,
  groupRange,
  isOfGroup,
  pendingRange,
} from '../records/stream-key.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import type { OpenStream, Stream } from './stream.ts';
import { type ConsumerState, decodeConsumer, decodeNumberedName } from './stream-consumer.ts';
import { copyStream } from './stream-copy.ts';
import { MANY } from './stream-entries.ts';
import { decodeGroup, encodeGroup, type GroupState } from './stream-group.ts';

export interface Group extends GroupState {
  readonly name: Buffer;
}

export interface Consumer extends ConsumerState {
  readonly name: Buffer;
}

/** Undefined when the stream has no group of that name. */
export function readGroup(view: View, { place, groups }: Stream, name: Buffer): Group | undefined {
  if (groups === 0) return undefined;
  const key = encodeGroupKey(place, name);
  const value = view.get(key);
  return value === undefined ? undefined : { name, ...decodeGroup(key, value) };
}

export function putGroup(view: WriteView, place: CollectionPlace, group: Group): void {
  view.put(encodeGroupKey(place, group.name), encodeGroup(group));
}

/** Numbers are given once, so that nothing that was somebody's is ever taken for another's. */
const NUMBERS = 2 ** 32 - 1;

/** Whether the stream can have one more group. */
export function hasGroupLeft({ nextGroup }: Stream): boolean {
  return nextGroup < NUMBERS;
}

/** Whether somebody of that name is in the group, or it can have one more consumer. */
export function canConsume(
  view: View,
  place: CollectionPlace,
  group: GroupState,
  name: Buffer,
): boolean {
  return group.nextConsumer < NUMBERS || readConsumer(view, place, group, name) !== undefined;
}

/** A new group that has read all up to `lastId`. The stream is to be saved. */
export function addGroup(
  view: WriteView,
  stream: OpenStream,
  name: Buffer,
  lastId: StreamId,
  entriesRead: number | undefined,
): void {
  const number = stream.nextGroup++;
  stream.groups++;
  const none = { earliestId: MIN_STREAM_ID, furthestId: MIN_STREAM_ID };
  const nobody = { pending: 0, consumers: 0, nextConsumer: 0 };
  putGroup(view, stream.place, { name, number, lastId, ...none, entriesRead, ...nobody });
}

/** All groups, by name. */
export function* eachGroup(stream: Stream, take: Take<Group>): Slices<void> {
  if (stream.groups === 0) return;
  yield* eachPair(groupRange(stream.place), ([key, value]) =>
    take({ name: decodeGroupName(key), ...decodeGroup(key, value) }),
  );
}

/** Undefined when the group has no consumer of that name. */
export function readConsumer(
  view: View,
  place: CollectionPlace,
  group: GroupState,
  name: Buffer,
): Consumer | undefined {
  if (group.consumers === 0) return undefined;
  const key = encodeConsumerKey(place, group.number, name);
  const value = view.get(key);
  return value === undefined ? undefined : { name, ...decodeConsumer(key, value) };
}

/** All consumers of a group, by name. */
export function* eachConsumer(
  place: CollectionPlace,
  group: GroupState,
  take: Take<Consumer>,
): Slices<void> {
  if (group.consumers === 0) return;
  yield* eachPair(consumerRange(place, group.number), ([key, value]) =>
    take({ name: decodeConsumerName(key), ...decodeConsumer(key, value) }),
  );
}

/** The name of the consumer with that number. */
export function consumerName(
  view: View,
  place: CollectionPlace,
  group: GroupState,
  number: number,
): Buffer {
  const key = encodeConsumerNameKey(place, group.number, number);
  const value = view.get(key);
  if (value === undefined) throw corruptRecord(key, `consumer ${number} has no name`);
  return decodeNumberedName(key, value);
}

/**
 * Where what is pending with IDs from `first` to `last` is, both of them as well: in the group, or for the
 * consumer of that number. It may be nowhere.
 */
export function rangeOfPending(
  place: CollectionPlace,
  { number, earliestId }: GroupState,
  first: StreamId,
  last: StreamId,
  consumer?: number,
): KeyRange {
  const from = compareIds(first, earliestId) < 0 ? earliestId : first;
  const range =
    consumer === undefined
      ? pendingRange(place, number, from, last)
      : consumerPendingRange(place, number, consumer, from, last);
  return compareIds(from, last) > 0 ? { gte: range.gte, lt: range.gte } : range;
}

/** Removes a consumer with all that is pending for it; the group is saved with it. */
export function* removeConsumer(
  view: WriteView,
  place: CollectionPlace,
  group: Group,
  consumer: Consumer,
): Slices<void> {
  const { number } = group;
  const own = rangeOfPending(place, group, MIN_STREAM_ID, MAX_STREAM_ID, consumer.number);
  yield* eachKey(own, (key) => {
    view.del(key);
    view.del(encodePendingKey(place, number, decodeIdAtEnd(key)));
  });
  view.del(encodeConsumerKey(place, number, consumer.name));
  view.del(encodeConsumerNameKey(place, number, consumer.number));
  const { pending, consumers } = group;
  const left = { pending: pending - consumer.pending, consumers: consumers - 1 };
  putGroup(view, place, { ...group, ...left });
}

/** Removes a group with all it has. The stream is to be saved. */
export function* removeGroup(view: WriteView, stream: OpenStream, group: Group): Slices<void> {
  const { place } = stream;
  const groupKey = encodeGroupKey(place, group.name);
  if (group.pending >= MANY && (yield* restIsLess(stream, group))) {
    const to = { slot: place.slot, version: view.newVersion() };
    yield* copyStream(view, stream, to, (key) => isOfGroup(key, group.number, groupKey));
  } else {
    view.del(groupKey);
    yield* eachKey(consumerRange(place, group.number), (key) => view.del(key));
    yield* eachKey(consumerNameRange(place, group.number), (key) => view.del(key));
    yield* eachKey(allPendingRange(place, group.number), (key) => view.del(key));
  }
  stream.groups--;
}

/** Whether all that stays is less than what goes with the group. */
function* restIsLess(stream: Stream, { number, pending }: Group): Slices<boolean> {
  let rest = stream.size;
  yield* eachGroup(stream, (other) => {
    if (other.number !== number) rest += 2 * other.pending;
    return rest >= 2 * pending;
  });
  return rest < 2 * pending;
}

function* eachKey(range: KeyRange, each: (key: Buffer) => void): Slices<void> {
  yield* eachPair(range, ([key]) => {
    each(key);
  });
}

/** Names of consumers by number, each looked up once. */
export class ConsumerNames {
  readonly #names = new Map<number, Buffer>();
  readonly #lookUp: (number: number) => Buffer;

  constructor(view: View, place: CollectionPlace, group: GroupState) {
    this.#lookUp = (number) => consumerName(view, place, group, number);
  }

  of(number: number): Buffer {
    if (!this.#names.has(number)) this.#names.set(number, this.#lookUp(number));
    return must(this.#names.get(number), 'it was looked up');
  }
}
