/** A stream decoded from a DUMP, put into the view with its groups, consumers and what is pending. */
import type { Found } from '../keyspace/keyspace.ts';
import { MIN_STREAM_ID } from '../records/stream-id.ts';
import {
  encodeConsumerKey,
  encodeConsumerNameKey,
  encodeConsumerPendingKey,
  encodeEntryKey,
  encodePendingKey,
} from '../records/stream-key.ts';
import { eachItem, GLANCE, type Slices } from '../steps/slices.ts';
import { newStream, type OpenStream, saveStream } from '../streams/stream.ts';
import { encodeConsumer, encodeConsumerName } from '../streams/stream-consumer.ts';
import { type Group, putGroup } from '../streams/stream-groups.ts';
import { encodePending, PENDING_OF_CONSUMER } from '../streams/stream-pending.ts';
import { addedUpTo } from '../streams/stream-progress.ts';
import type { WriteView } from '../txn/view.ts';
import type { RdbGroup, RdbStream } from './rdb-stream.ts';

/** Takes the place of whatever is under the key; `deadlineMs` 0: it has none. */
export function* storeRdbStream(
  view: WriteView,
  found: Found,
  value: RdbStream,
  deadlineMs: number,
): Slices<void> {
  const { entries, lastId, maxDeletedId, entriesAdded } = value;
  const firstId = entries.at(0)?.id ?? MIN_STREAM_ID;
  const counts = { size: entries.length, lastId, firstId, maxDeletedId, entriesAdded };
  const stream = { ...newStream(view, found), ...counts, deadlineMs };
  yield* eachItem(entries, (entry) => {
    view.put(encodeEntryKey(stream.place, entry.id), entry.value);
  });
  for (const group of value.groups) {
    yield GLANCE;
    yield* storeGroup(view, stream, group);
  }
  saveStream(view, stream);
}

function* storeGroup(view: WriteView, stream: OpenStream, group: RdbGroup): Slices<void> {
  const { name, lastId, pending, consumers } = group;
  const state: Group = {
    name,
    number: stream.nextGroup++,
    lastId,
    earliestId: MIN_STREAM_ID,
    furthestId: pending.last?.id ?? MIN_STREAM_ID,
    entriesRead: group.entriesRead === 'untold' ? addedUpTo(stream, lastId) : group.entriesRead,
    pending: pending.length,
    consumers: consumers.length,
    nextConsumer: consumers.length,
  };
  stream.groups++;
  putGroup(view, stream.place, state);
  yield* storeConsumers(view, stream, state.number, group);
  yield* storePending(view, stream, state.number, group);
}

function* storeConsumers(
  view: WriteView,
  { place }: OpenStream,
  group: number,
  { consumers }: RdbGroup,
): Slices<void> {
  let number = 0;
  yield* eachItem(consumers, (consumer) => {
    const { name } = consumer;
    view.put(encodeConsumerKey(place, group, name), encodeConsumer({ ...consumer, number }));
    view.put(encodeConsumerNameKey(place, group, number), encodeConsumerName(name));
    number++;
  });
}

function* storePending(
  view: WriteView,
  { place }: OpenStream,
  group: number,
  { pending }: RdbGroup,
): Slices<void> {
  yield* eachItem(pending, (item) => {
    const { id, consumer } = item;
    view.put(encodePendingKey(place, group, id), encodePending(item));
    view.put(encodeConsumerPendingKey(place, group, consumer, id), PENDING_OF_CONSUMER);
  });
}
