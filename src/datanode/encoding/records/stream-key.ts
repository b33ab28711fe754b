/**
 * Keys of what a stream has beside its header, as `tags.ts` lays them out. Frozen format, behind tag, slot
 * and version:
 *
 *   streamEntry    id 16 bytes                                → see streams/stream-entry.ts
 *   streamGroup    0x00 · name                                → a group: see streams/stream-group.ts
 *   streamGroup    0x01 · group u32 · name                    → a consumer: see streams/stream-consumer.ts
 *   streamGroup    0x02 · group u32 · consumer u32            → flags, its name
 *   streamPending  group u32 · 0x00 · id 16 bytes             → see streams/stream-pending.ts
 *   streamPending  group u32 · 0x01 · consumer u32 · id       → flags
 *
 * Groups and consumers are ordered by name, entries and what is pending by ID. Numbers stand for names in
 * what there is much of; they are given once: of a group in its stream, of a consumer in its group.
 */
import { copyInto, writeU32 } from '../../../common/bytes.ts';
import type { KeyRange } from '../../engine/engine.ts';
import { type CollectionPlace, ELEMENT_PREFIX_BYTES, elementRange, prefix } from './element-key.ts';
import { keyAfter } from './key.ts';
import { readStreamId, STREAM_ID_BYTES, type StreamId } from './stream-id.ts';
import { tags } from './tags.ts';

const AT = ELEMENT_PREFIX_BYTES;
const KIND = { group: 0, consumer: 1, consumerName: 2 } as const;
const PENDING = { ofGroup: 0, ofConsumer: 1 } as const;
const NUMBER_BYTES = 4;
const CONSUMER_NAME_AT = AT + 1 + NUMBER_BYTES;
const PENDING_KIND_AT = AT + NUMBER_BYTES;

export function encodeEntryKey(place: CollectionPlace, id: StreamId): Buffer {
  const encoded = prefix(tags.streamEntry, place, STREAM_ID_BYTES);
  copyInto(encoded, id, AT);
  return encoded;
}

/** The ID at the end of the key of an entry, or of one of the two keys of what is pending. */
export function decodeIdAtEnd(encoded: Buffer): StreamId {
  return readStreamId(encoded, encoded.length - STREAM_ID_BYTES);
}

/** Entries with IDs from `first` to `last`, both of them as well. */
export function entryRange(place: CollectionPlace, first: StreamId, last: StreamId): KeyRange {
  return { gte: encodeEntryKey(place, first), lt: keyAfter(encodeEntryKey(place, last)) };
}

export function encodeGroupKey(place: CollectionPlace, name: Buffer): Buffer {
  const encoded = prefix(tags.streamGroup, place, 1 + name.length);
  encoded[AT] = KIND.group;
  encoded.set(name, AT + 1);
  return encoded;
}

export function decodeGroupName(encoded: Buffer): Buffer {
  return Buffer.from(encoded.subarray(AT + 1));
}

/** All groups of a stream. */
export function groupRange(place: CollectionPlace): KeyRange {
  return { gte: kindBound(place, KIND.group), lt: kindBound(place, KIND.consumer) };
}

export function encodeConsumerKey(place: CollectionPlace, group: number, name: Buffer): Buffer {
  const encoded = prefix(tags.streamGroup, place, 1 + NUMBER_BYTES + name.length);
  encoded[AT] = KIND.consumer;
  writeU32(encoded, group, AT + 1);
  encoded.set(name, CONSUMER_NAME_AT);
  return encoded;
}

export function decodeConsumerName(encoded: Buffer): Buffer {
  return Buffer.from(encoded.subarray(CONSUMER_NAME_AT));
}

/** All consumers of a group. */
export function consumerRange(place: CollectionPlace, group: number): KeyRange {
  return numberedRange(place, KIND.consumer, group);
}

export function encodeConsumerNameKey(
  place: CollectionPlace,
  group: number,
  consumer: number,
): Buffer {
  const encoded = prefix(tags.streamGroup, place, 1 + 2 * NUMBER_BYTES);
  encoded[AT] = KIND.consumerName;
  writeU32(encoded, group, AT + 1);
  writeU32(encoded, consumer, AT + 1 + NUMBER_BYTES);
  return encoded;
}

/** The names of all consumers of a group. */
export function consumerNameRange(place: CollectionPlace, group: number): KeyRange {
  return numberedRange(place, KIND.consumerName, group);
}

export function encodePendingKey(place: CollectionPlace, group: number, id: StreamId): Buffer {
  const encoded = prefix(tags.streamPending, place, NUMBER_BYTES + 1 + STREAM_ID_BYTES);
  writeU32(encoded, group, AT);
  encoded[PENDING_KIND_AT] = PENDING.ofGroup;
  encoded.set(id, PENDING_KIND_AT + 1);
  return encoded;
}

export function encodeConsumerPendingKey(
  place: CollectionPlace,
  group: number,
  consumer: number,
  id: StreamId,
): Buffer {
  const encoded = prefix(tags.streamPending, place, 2 * NUMBER_BYTES + 1 + STREAM_ID_BYTES);
  writeU32(encoded, group, AT);
  encoded[PENDING_KIND_AT] = PENDING.ofConsumer;
  writeU32(encoded, consumer, PENDING_KIND_AT + 1);
  encoded.set(id, PENDING_KIND_AT + 1 + NUMBER_BYTES);
  return encoded;
}

/** What is pending in a group with IDs from `first` to `last`, both of them as well. */
export function pendingRange(
  place: CollectionPlace,
  group: number,
  first: StreamId,
  last: StreamId,
): KeyRange {
  return {
    gte: encodePendingKey(place, group, first),
    lt: keyAfter(encodePendingKey(place, group, last)),
  };
}

/** The same of one consumer. */
export function consumerPendingRange(
  place: CollectionPlace,
  group: number,
  consumer: number,
  first: StreamId,
  last: StreamId,
): KeyRange {
  return {
    gte: encodeConsumerPendingKey(place, group, consumer, first),
    lt: keyAfter(encodeConsumerPendingKey(place, group, consumer, last)),
  };
}

/** All that is pending in a group, by ID and by consumer. */
export function allPendingRange(place: CollectionPlace, group: number): KeyRange {
  return { gte: groupBound(place, group), lt: groupBound(place, group + 1) };
}

/** Whether the key is of the group itself, or of its consumers and what is pending in it. */
export function isOfGroup(encoded: Buffer, group: number, groupKey: Buffer): boolean {
  if (encoded[0] === tags.streamPending) return encoded.readUInt32BE(AT) === group;
  if (encoded[0] !== tags.streamGroup) return false;
  return encoded[AT] === KIND.group
    ? encoded.equals(groupKey)
    : encoded.readUInt32BE(AT + 1) === group;
}

function groupBound(place: CollectionPlace, group: number): Buffer {
  if (group > 0xffff_ffff) return elementRange(tags.streamPending, place).lt;
  const bound = prefix(tags.streamPending, place, NUMBER_BYTES);
  writeU32(bound, group, AT);
  return bound;
}

function kindBound(place: CollectionPlace, kind: number): Buffer {
  const bound = prefix(tags.streamGroup, place, 1);
  bound[AT] = kind;
  return bound;
}

function numberedRange(place: CollectionPlace, kind: number, group: number): KeyRange {
  const bound = (number: number) => {
    if (number > 0xffff_ffff) return kindBound(place, kind + 1);
    const encoded = prefix(tags.streamGroup, place, 1 + NUMBER_BYTES);
    encoded[AT] = kind;
    writeU32(encoded, number, AT + 1);
    return encoded;
  };
  return { gte: bound(group), lt: bound(group + 1) };
}
