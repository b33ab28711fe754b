/** XREADGROUP: entries for a consumer of a group (redis.io, XREADGROUP). */
import { limits } from '../../../common/limits.ts';
import { eachPair } from '../../encoding/collections/member-walk.ts';
import {
  compareIds,
  idAfter,
  MAX_STREAM_ID,
  type StreamId,
} from '../../encoding/records/stream-id.ts';
import { decodeIdAtEnd } from '../../encoding/records/stream-key.ts';
import { GLANCE, isGlanceDue, type Slices } from '../../encoding/steps/slices.ts';
import { readStream, type Stream } from '../../encoding/streams/stream.ts';
import { oneMore } from '../../encoding/streams/stream-count.ts';
import { Deliveries, type OpenConsumer } from '../../encoding/streams/stream-deliveries.ts';
import {
  rangeOfEntries,
  readEntry,
  type StreamEntry,
  walkEntries,
} from '../../encoding/streams/stream-entries.ts';
import { canConsume, rangeOfPending, readGroup } from '../../encoding/streams/stream-groups.ts';
import type { WriteView } from '../../encoding/txn/view.ts';
import { bulk, EMPTY_ARRAY, NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';
import { ReplyPile } from '../../resp/reply-pile.ts';
import { applyVersions } from '../rows/apply-versions.ts';
import { textBytes, WRONG_TYPE } from '../rows/args.ts';
import {
  ArgumentError,
  type Command,
  NO_KEYS,
  type RunContext,
  type RunResult,
  write,
} from '../rows/command.ts';
import { late, lateReply } from '../rows/late-error.ts';
import { idArgument } from './stream-args.ts';
import { NO_CONSUMER_LEFT, noKeyOrGroup } from './stream-errors.ts';
import { idleEntries } from './stream-idle.ts';
import { type ReadOptions, readOptions } from './stream-read-args.ts';
import { claimedReply, entryReply, goneReply } from './stream-replies.ts';
import { hasReadOption, keysOfRead, streamColumn } from './stream-rows.ts';
import { groupReading } from './stream-waits.ts';

/** `new`: what no consumer was given; else what is pending for this one behind the ID. */
type From = StreamId | 'new';

interface GroupRead
  extends Pick<ReadOptions, 'count' | 'blockMs' | 'noAck' | 'claimIdleMs' | 'keys'> {
  readonly group: Buffer;
  readonly consumer: Buffer;
  /** One for each key; what is wrong is told once its key was looked at. */
  readonly from: readonly (From | ArgumentError)[];
}

/**
 * XREADGROUP GROUP group consumer [COUNT count] [BLOCK milliseconds] [CLAIM min-idle-time] [NOACK] STREAMS key
 * [key ...] id [id ...]
 */
export function parseReadGroup(args: readonly Buffer[]): GroupRead {
  const { count, blockMs, noAck, claimIdleMs, keys, ids, group } = readOptions(args, 'xreadgroup');
  if (group === undefined) throw new ArgumentError('ERR Missing GROUP option for XREADGROUP');
  const from = ids.map((id) => late(() => fromArgument(id)));
  return {
    count,
    blockMs,
    noAck,
    claimIdleMs,
    keys,
    from,
    group: group.name,
    consumer: group.consumer,
  };
}

/** Builds before do not know CLAIM. */
function readGroupAppliesFrom(args: readonly Buffer[]): number {
  return hasReadOption(args, 'claim') ? applyVersions.redis84 : applyVersions.streams;
}

function fromArgument(arg: Buffer): From {
  const text = textBytes(arg).toString('latin1');
  if (text === '>') return 'new';
  if (text !== '$') {
    const id = idArgument(arg);
    return compareIds(id, MAX_STREAM_ID) === 0 ? 'new' : id;
  }
  throw new ArgumentError(
    'ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of ' +
      'this consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID ' +
      'would just return an empty result set.',
  );
}

function runReadGroup(view: WriteView, request: GroupRead, context: RunContext): RunResult {
  return refusalOf(view, request, context) ?? readForConsumer(view, request, context);
}

/** What is wrong with any of the keys: nothing is given then. */
function refusalOf(
  view: WriteView,
  { keys, from, group: name, consumer }: GroupRead,
  { nowMs }: RunContext,
): Reply | undefined {
  for (const [at, key] of keys.entries()) {
    const stream = readStream(view, key, nowMs);
    if (stream === 'wrong-type') return WRONG_TYPE;
    const group = stream && readGroup(view, stream, name);
    if (stream === undefined || group === undefined) {
      return noKeyOrGroup(key, name, ' in XREADGROUP with GROUP option');
    }
    const id = from[at]!;
    if (id instanceof ArgumentError) return lateReply(id);
    if (!canConsume(view, stream.place, group, consumer)) return NO_CONSUMER_LEFT;
  }
  return undefined;
}

function* readForConsumer(
  view: WriteView,
  request: GroupRead,
  { nowMs }: RunContext,
): Slices<Reply> {
  const pairs: [Reply, Reply][] = [];
  const room = { bytes: limits.replyBytesMax };
  for (const [at, key] of request.keys.entries()) {
    // read again: the same key may stand there twice
    const stream = readStream(view, key, nowMs) as Stream;
    const deliveries = new Deliveries(view, stream, readGroup(view, stream, request.group)!);
    let consumer = deliveries.find(request.consumer, nowMs);
    if (consumer === undefined) {
      consumer = deliveries.add(request.consumer, nowMs);
      view.notify?.('stream', 'xgroup-createconsumer', key);
    }
    const giving = new Giving(view, deliveries, consumer, nowMs, room);
    const from = request.from[at] as From;
    const entries =
      from === 'new' ? yield* giving.give(request) : yield* giving.repeat(from, request.count);
    if (entries !== undefined) pairs.push([bulk(key), entries]);
    deliveries.save();
  }
  return pairs.length === 0 ? NULL_ARRAY : { kind: 'rows', pairs };
}

/** Fewer entries than were asked for is an answer: so a reply never has more than it may. */
class Giving {
  readonly #view: WriteView;
  readonly #deliveries: Deliveries;
  readonly #consumer: OpenConsumer;
  readonly #nowMs: number;
  /** What is left of the reply, of all keys. */
  readonly #room: { bytes: number };

  constructor(
    view: WriteView,
    deliveries: Deliveries,
    consumer: OpenConsumer,
    nowMs: number,
    room: { bytes: number },
  ) {
    this.#view = view;
    this.#deliveries = deliveries;
    this.#consumer = consumer;
    this.#nowMs = nowMs;
    this.#room = room;
  }

  /** What has been pending for long, if that is asked for, and what is new; undefined: there is nothing. */
  *give(request: GroupRead): Slices<Reply | undefined> {
    const { count, claimIdleMs } = request;
    const pile = new ReplyPile('array', 'a smaller COUNT');
    let given = 0;
    if (claimIdleMs !== undefined) {
      given = yield* this.#claimIdle(pile, { minIdleMs: claimIdleMs, count });
    }
    given += yield* this.#giveNew(pile, request, count - given);
    if (given === 0) return undefined;
    this.#consumer.activeMs = this.#nowMs;
    return pile.reply();
  }

  /** How many; those that are gone from the stream are pending no more. */
  *#claimIdle(pile: ReplyPile, wanted: { minIdleMs: number; count: number }): Slices<number> {
    const { stream, group } = this.#deliveries;
    let given = 0;
    let met = 0;
    for (const { id, state } of yield* idleEntries(stream, group, wanted, this.#nowMs)) {
      if (isGlanceDue(++met)) yield GLANCE;
      const fields = readEntry(this.#view, stream, id);
      if (fields === undefined) {
        this.#deliveries.drop(id, state);
        continue;
      }
      const { deliveredMs, deliveries } = state;
      const reply = claimedReply({ id, fields }, this.#nowMs - deliveredMs, deliveries);
      if (!this.#fits(reply)) break;
      pile.add(reply);
      given++;
      const delivery = { deliveredMs: this.#nowMs, deliveries: oneMore(deliveries) };
      this.#deliveries.give(id, this.#consumer, delivery, state);
    }
    yield* this.#deliveries.findEarliest();
    return given;
  }

  *#giveNew(pile: ReplyPile, request: GroupRead, count: number): Slices<number> {
    const { stream, group } = this.#deliveries;
    const first = idAfter(group.lastId);
    if (count <= 0 || first === undefined) return 0;
    if (Buffer.compare(first, stream.lastId) > 0) return 0;
    let given = 0;
    yield* walkEntries(rangeOfEntries(stream, first, MAX_STREAM_ID), count, (entry) => {
      const isTold = request.claimIdleMs !== undefined;
      const reply = isTold ? claimedReply(entry, 0, 0) : entryReply(entry);
      if (!this.#fits(reply)) return true;
      pile.add(reply);
      given++;
      this.#give(entry, request.noAck);
      return undefined;
    });
    return given;
  }

  #give({ id }: StreamEntry, noAck: boolean): void {
    this.#deliveries.advance(id);
    if (noAck) return;
    const before = this.#deliveries.pendingAt(id);
    const delivery = { deliveredMs: this.#nowMs, deliveries: 1 };
    this.#deliveries.give(id, this.#consumer, delivery, before);
  }

  /** What is pending for the consumer behind `after`, once more. */
  *repeat(after: StreamId, count: number): Slices<Reply> {
    const { stream, group } = this.#deliveries;
    const { number, pending } = this.#consumer;
    const first = idAfter(after);
    if (first === undefined || pending === 0) return EMPTY_ARRAY;
    const pile = new ReplyPile('array', 'a smaller COUNT');
    let left = count;
    const range = rangeOfPending(stream.place, group, first, MAX_STREAM_ID, number);
    yield* eachPair(range, ([key]) => {
      if (left-- <= 0) return true;
      const id = decodeIdAtEnd(key);
      const fields = readEntry(this.#view, stream, id);
      const reply = fields === undefined ? goneReply(id) : entryReply({ id, fields });
      if (!this.#fits(reply)) return true;
      pile.add(reply);
      if (fields !== undefined) this.#repeat(id);
      return undefined;
    });
    return pile.reply();
  }

  #repeat(id: StreamId): void {
    const before = this.#deliveries.pendingAt(id);
    if (before === undefined) return;
    const delivery = { deliveredMs: this.#nowMs, deliveries: oneMore(before.deliveries) };
    this.#deliveries.give(id, this.#consumer, delivery, before);
  }

  #fits(reply: Reply): boolean {
    const bytes = replyBytes(reply);
    if (bytes > this.#room.bytes && this.#room.bytes < limits.replyBytesMax) return false;
    this.#room.bytes -= bytes;
    return true;
  }
}

export const streamReadGroupCommands: readonly Command[] = [
  write({
    ...streamColumn,
    name: 'xreadgroup',
    arity: -7,
    flags: ['write', 'blocking', 'movablekeys'],
    keys: NO_KEYS,
    keysOf: keysOfRead,
    since: '5.0.0',
    summary:
      'Returns entries of streams for a consumer of a group, and waits for some if asked to.',
    appliesFrom: readGroupAppliesFrom,
    refusedBefore: true,
    hasChanged: true,
    parse: parseReadGroup,
    run: runReadGroup,
    blocking: groupReading,
  }),
];
