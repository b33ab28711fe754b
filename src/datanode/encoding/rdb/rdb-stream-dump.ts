/** A stream as Redis 7.0 serializes it (see `rdb-stream.ts`), in nodes as Redis makes them. */
import { SteadyList } from '../../../common/steady-list.ts';
import { eachPair } from '../collections/member-walk.ts';
import { corruptRecord } from '../records/record.ts';
import { MAX_STREAM_ID, MIN_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import { decodeIdAtEnd } from '../records/stream-key.ts';
import { GLANCE, type Slices, workOnEach } from '../steps/slices.ts';
import type { Stream } from '../streams/stream.ts';
import { rangeOfEntries, walkEntries } from '../streams/stream-entries.ts';
import {
  type Consumer,
  eachConsumer,
  eachGroup,
  type Group,
  rangeOfPending,
} from '../streams/stream-groups.ts';
import { decodePending } from '../streams/stream-pending.ts';
import { encodeRdbLength, encodeRdbString, encodeRdbTime, rdbTypeByte } from './rdb-elements.ts';
import { StreamNode } from './rdb-stream-nodes.ts';

/** Of a length: that 64 bits follow. */
const WIDE = Buffer.of(0x81);
/** Entries a group has read: not known. */
const NOT_KNOWN = Buffer.concat([WIDE, Buffer.alloc(8, 0xff)]);
/** What is gathered before it becomes one piece. */
const PIECE_PARTS = 256;

/** Of which a value is put together, one behind the other. */
export interface RdbParts {
  /** No more are wanted. */
  readonly isFull?: boolean;
  add(...parts: readonly Buffer[]): unknown;
}

/** Type and value; undefined when it would have more than `bytesMax`. */
export function* dumpStream(
  stream: Stream,
  bytesMax: number,
): Slices<readonly Iterable<Buffer>[] | undefined> {
  const nodes = new Pieces(bytesMax);
  const count = yield* dumpNodes(stream, nodes);
  const rest = new Pieces(bytesMax - nodes.bytes);
  yield* dumpRest(stream, rest);
  if (rest.isFull) return undefined;
  return [[rdbTypeByte('stream7'), encodeRdbLength(count)], nodes.finish(), rest.finish()];
}

/**
 * Type, key and value, as in a file, handed out as they are made. How many nodes there are stands before them: of a stream that has
 * more than a few the entries are read twice.
 */
export function* writeStream(stream: Stream, to: RdbParts): Slices<void> {
  const few = new Pieces(NODES_KEPT_BYTES);
  const counted = { add: (...parts: readonly Buffer[]) => few.isFull || few.add(...parts) };
  const count = yield* dumpNodes(stream, counted);
  const key = encodeRdbString(stream.found.key);
  to.add(rdbTypeByte('stream7'), ...key, encodeRdbLength(count));
  if (few.isFull) yield* dumpNodes(stream, to);
  else to.add(...few.finish());
  yield* dumpRest(stream, to);
}

/** What is behind the nodes. */
function* dumpRest(stream: Stream, rest: RdbParts): Slices<void> {
  const { size, lastId, firstId, maxDeletedId, entriesAdded, groups } = stream;
  rest.add(encodeRdbLength(size), ...[lastId, firstId, maxDeletedId].map(encodeId));
  rest.add(encodeRdbLength(entriesAdded), encodeRdbLength(groups));
  yield* workOnEach<Group>(
    (take) => eachGroup(stream, take),
    (group) => dumpGroup(stream, group, rest),
  );
}

/** How many nodes there are. */
function* dumpNodes(stream: Stream, to: RdbParts): Slices<number> {
  let [node, count]: [StreamNode | undefined, number] = [undefined, 0];
  const end = () => {
    if (node === undefined) return;
    const [id, listpack] = node.finish();
    to.add(...encodeRdbString(id), ...encodeRdbString(listpack));
    count++;
  };
  let entries = 0;
  const all = rangeOfEntries(stream, MIN_STREAM_ID, MAX_STREAM_ID);
  yield* walkEntries(all, stream.size, ({ id, fields }) => {
    if (node === undefined || node.isFull(fields)) {
      end();
      node = new StreamNode(id, fields);
    }
    node.add(id, fields);
    entries++;
    return to.isFull === true;
  });
  end();
  if (to.isFull !== true && entries !== stream.size) throw lacking(stream, 'entries');
  return count;
}

function* dumpGroup(stream: Stream, group: Group, to: RdbParts): Slices<boolean> {
  const { name, lastId, entriesRead, pending, consumers } = group;
  const read = entriesRead === undefined ? NOT_KNOWN : encodeRdbLength(entriesRead);
  to.add(...encodeRdbString(name), encodeId(lastId), read, encodeRdbLength(pending));
  if (pending > 0) {
    let met = 0;
    const range = rangeOfPending(stream.place, group, MIN_STREAM_ID, group.furthestId);
    yield* eachPair(range, ([key, value]) => {
      const { deliveredMs, deliveries } = decodePending(key, value);
      to.add(decodeIdAtEnd(key), encodeRdbTime(deliveredMs), encodeRdbLength(deliveries));
      met++;
      return to.isFull === true;
    });
    if (to.isFull !== true && met !== pending) throw lacking(stream, 'what is pending in a group');
  }
  to.add(encodeRdbLength(consumers));
  yield* workOnEach<Consumer>(
    (take) => eachConsumer(stream.place, group, take),
    (consumer) => dumpConsumer(stream, group, consumer, to),
  );
  return to.isFull === true;
}

function* dumpConsumer(
  stream: Stream,
  group: Group,
  { name, number, seenMs, pending }: Consumer,
  to: RdbParts,
): Slices<boolean> {
  to.add(...encodeRdbString(name), encodeRdbTime(seenMs), encodeRdbLength(pending));
  yield GLANCE;
  if (pending === 0) return to.isFull === true;
  let met = 0;
  const own = rangeOfPending(stream.place, group, MIN_STREAM_ID, group.furthestId, number);
  yield* eachPair(own, ([key]) => {
    to.add(decodeIdAtEnd(key));
    met++;
    return to.isFull === true;
  });
  if (to.isFull !== true && met !== pending)
    throw lacking(stream, 'what is pending for a consumer');
  return to.isFull === true;
}

/** A reader of what is written would take what follows for elements that are not there. */
function lacking({ found }: Stream, what: string): Error {
  return corruptRecord(found.place, `${what} are not as many as it says`);
}

function encodeId(id: StreamId): Buffer {
  return Buffer.concat([encodeHalf(id, 0), encodeHalf(id, 8)]);
}

function encodeHalf(id: StreamId, at: number): Buffer {
  if (id.readUInt32BE(at) === 0) return encodeRdbLength(id.readUInt32BE(at + 4));
  return Buffer.concat([WIDE, id.subarray(at, at + 8)]);
}

/** Nodes of so many bytes are kept until it is known how many there are. */
const NODES_KEPT_BYTES = 262_144;

/** Parts one behind the other, kept as pieces: a million small Buffers take far more than their bytes. */
class Pieces implements RdbParts {
  bytes = 0;
  readonly #bytesMax: number;
  readonly #pieces = new SteadyList<Buffer>();
  #open: Buffer[] = [];

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get isFull(): boolean {
    return this.bytes > this.#bytesMax;
  }

  add(...parts: readonly Buffer[]): void {
    for (const part of parts) this.bytes += part.length;
    this.#open.push(...parts);
    if (this.#open.length >= PIECE_PARTS) this.#close();
  }

  finish(): Iterable<Buffer> {
    this.#close();
    return this.#pieces;
  }

  #close(): void {
    this.#pieces.push(Buffer.concat(this.#open));
    this.#open = [];
  }
}
