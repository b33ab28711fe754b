/**
 * Streams as Redis serializes them, in each form that it had:
 *
 *   nodes (each: ID · listpack) · entries · last ID
 *   · [from 7.0 on: first ID · greatest ID deleted · entries added]
 *   · groups, each: name · last ID · [from 7.0 on: entries read]
 *     · what is pending, each: ID 16 bytes · delivered u64 · deliveries
 *     · consumers, each: name · seen u64 · [from 7.2 on: active u64] · what is pending for it, each: ID
 *
 * Times are little-endian. Entries, and what is pending, are ordered by ID.
 */
import { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import { compareIds, MIN_STREAM_ID, STREAM_ID_BYTES, type StreamId } from '../records/stream-id.ts';
import { GLANCE, isGlanceDue, type Slices } from '../steps/slices.ts';
import type { PendingState } from '../streams/stream-pending.ts';
import { RdbError, type RdbReader } from './rdb-reader.ts';
import { nodeEntries, type StoredEntry } from './rdb-stream-nodes.ts';

/** What came with which version of Redis. */
export interface StreamForm {
  /** 7.0: what was deleted and how many were added. */
  readonly hasCounts: boolean;
  /** 7.2: when a consumer was last given something. */
  readonly hasActive: boolean;
}

export interface RdbStream {
  readonly type: 'stream';
  readonly entries: SteadyList<StoredEntry>;
  readonly lastId: StreamId;
  readonly maxDeletedId: StreamId;
  readonly entriesAdded: number;
  readonly groups: SteadyList<RdbGroup>;
  /** Bytes of the longest string in it. */
  readonly longest: number;
}

export interface RdbGroup {
  readonly name: Buffer;
  readonly lastId: StreamId;
  /** `untold`: before Redis 7.0 there was no such number; undefined: not known. */
  readonly entriesRead: number | undefined | 'untold';
  readonly pending: SteadyList<RdbPending>;
  readonly consumers: SteadyList<RdbConsumer>;
}

export interface RdbConsumer {
  readonly name: Buffer;
  readonly seenMs: number;
  readonly activeMs: number;
  readonly pending: number;
}

/** `consumer`: at which place in its group. */
export interface RdbPending extends PendingState {
  readonly id: StreamId;
  consumer: number;
}

/** Of a consumer that was never given anything, when it was. */
const NEVER_ACTIVE = Buffer.alloc(8, 0xff);
/** Of a group, how many entries it has read: not known. */
const NOT_KNOWN = 2n ** 64n - 1n;
const NOBODY = -1;

export function* readRdbStream(reader: RdbReader, form: StreamForm): Slices<RdbStream> {
  const { entries, longest } = yield* readEntries(reader);
  if (reader.number() !== entries.length) throw new RdbError('a stream says another count');
  const lastId = readId(reader);
  if (entries.last !== undefined && compareIds(entries.last.id, lastId) > 0) {
    throw new RdbError('an entry is behind the last');
  }
  const counts = form.hasCounts ? readCounts(reader) : oldCounts(entries.length);
  if (counts.entriesAdded < entries.length) throw new RdbError('fewer were added than are there');
  const groups = yield* readGroups(reader, form);
  const names = yield* longestName(groups);
  return {
    type: 'stream',
    entries,
    lastId,
    ...counts,
    groups,
    longest: Math.max(longest, names),
  };
}

interface Entries {
  readonly entries: SteadyList<StoredEntry>;
  readonly longest: number;
}

function* readEntries(reader: RdbReader): Slices<Entries> {
  const entries = new SteadyList<StoredEntry>();
  let longest = 0;
  let before: StreamId = MIN_STREAM_ID;
  let steps = 0;
  for (let left = reader.length(); left > 0; left--) {
    for (const entry of nodeEntries(reader)) {
      if (isGlanceDue(++steps)) yield GLANCE;
      if (entry === undefined) continue;
      if (compareIds(entry.id, before) <= 0) throw new RdbError('entries are not in order');
      before = entry.id;
      longest = Math.max(longest, entry.longest);
      entries.push(entry);
    }
  }
  return { entries, longest };
}

/** What a stream has as it was before Redis 7.0. */
function oldCounts(entries: number) {
  return { maxDeletedId: MIN_STREAM_ID, entriesAdded: entries };
}

function readCounts(reader: RdbReader) {
  // the first ID: it is that of the first entry
  readId(reader);
  return { maxDeletedId: readId(reader), entriesAdded: reader.number() };
}

function readId(reader: RdbReader): StreamId {
  const id = Buffer.allocUnsafe(STREAM_ID_BYTES);
  id.writeBigUInt64BE(reader.u64(), 0);
  id.writeBigUInt64BE(reader.u64(), 8);
  return id;
}

function* readGroups(reader: RdbReader, form: StreamForm): Slices<SteadyList<RdbGroup>> {
  const groups = new SteadyList<RdbGroup>();
  const names = new SteadyMap<true>();
  for (let left = reader.length(); left > 0; left--) {
    const group = yield* readGroup(reader, form);
    names.set(group.name.toString('latin1'), true);
    groups.push(reader.element(group));
    if (names.size !== groups.length) throw new RdbError('a group is there twice');
    yield GLANCE;
  }
  return groups;
}

function* readGroup(reader: RdbReader, form: StreamForm): Slices<RdbGroup> {
  const name = reader.string();
  const lastId = readId(reader);
  const entriesRead = form.hasCounts ? readRead(reader) : 'untold';
  const pending = yield* readPending(reader);
  const byId = new SteadyMap<RdbPending>();
  let met = 0;
  for (const item of pending) {
    if (isGlanceDue(++met)) yield GLANCE;
    byId.set(item.id.toString('latin1'), item);
  }
  const consumers = yield* readConsumers(reader, form, byId);
  for (const { consumer } of pending) {
    if (isGlanceDue(++met)) yield GLANCE;
    if (consumer === NOBODY) throw new RdbError('an entry is pending for nobody');
  }
  return { name, lastId, entriesRead, pending, consumers };
}

function readRead(reader: RdbReader): number | undefined {
  const value = reader.u64();
  if (value === NOT_KNOWN) return undefined;
  if (value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value);
  throw new RdbError(`the number ${value} is out of bounds`);
}

function* readPending(reader: RdbReader): Slices<SteadyList<RdbPending>> {
  const pending = new SteadyList<RdbPending>();
  for (let left = reader.length(); left > 0; left--) {
    if (isGlanceDue(left)) yield GLANCE;
    const id = Buffer.from(reader.raw(STREAM_ID_BYTES));
    const before = pending.last?.id;
    if (before !== undefined && compareIds(id, before) <= 0) {
      throw new RdbError('what is pending is not in order');
    }
    const deliveredMs = reader.time();
    const deliveries = reader.number();
    pending.push(reader.element({ id, consumer: NOBODY, deliveredMs, deliveries }));
  }
  return pending;
}

function* readConsumers(
  reader: RdbReader,
  form: StreamForm,
  byId: SteadyMap<RdbPending>,
): Slices<SteadyList<RdbConsumer>> {
  const consumers = new SteadyList<RdbConsumer>();
  const names = new SteadyMap<true>();
  for (let left = reader.length(); left > 0; left--) {
    const name = reader.string();
    names.set(name.toString('latin1'), true);
    const seenMs = reader.time();
    const activeMs = form.hasActive ? readActive(reader) : seenMs;
    const pending = reader.length();
    for (let at = 0; at < pending; at++) {
      if (isGlanceDue(at)) yield GLANCE;
      const item = byId.get(reader.raw(STREAM_ID_BYTES).toString('latin1'));
      if (item?.consumer !== NOBODY) throw new RdbError('an entry is pending for two, or none');
      item.consumer = consumers.length;
    }
    consumers.push(reader.element({ name, seenMs, activeMs, pending }));
    if (names.size !== consumers.length) throw new RdbError('a consumer is there twice');
    yield GLANCE;
  }
  return consumers;
}

/** 0: never. */
function readActive(reader: RdbReader): number {
  const raw = reader.raw(8);
  return raw.equals(NEVER_ACTIVE) ? 0 : reader.within(raw).time();
}

function* longestName(groups: SteadyList<RdbGroup>): Slices<number> {
  let longest = 0;
  let met = 0;
  for (const { name, consumers } of groups) {
    longest = Math.max(longest, name.length);
    for (const consumer of consumers) {
      if (isGlanceDue(++met)) yield GLANCE;
      longest = Math.max(longest, consumer.name.length);
    }
  }
  return longest;
}
