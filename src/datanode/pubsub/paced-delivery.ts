/**
 * Messages on their way to clients of this node. A thousand subscribers take milliseconds, so they are
 * served a share of each turn, and what comes meanwhile waits in order. Messages for the same audience
 * become a batch, of which each subscriber is given all that is for it before the next one: one write for
 * many messages. Who leaves is given no more; who came after a message was published is not given it.
 *
 * What waits is bounded. Beyond, publishers and what peers post are held back (`whenRoom`, `mayTakePost`);
 * who cannot wait, as events of keys cannot, has the oldest served at once, as much as it brought.
 */
import type { Clock } from '../../common/clock.ts';
import { Fifo } from '../../common/fifo.ts';
import { limits } from '../../common/limits.ts';
import { TurnShare } from '../../common/turn-share.ts';
import type { Delivery, Subscriber } from '../commands/pubsub/pubsub-port.ts';
import type { Topic } from './registry.ts';

/** A message as each of its topics gets it. */
export interface Message {
  /** Of the registry when it came: it is for those who had subscribed by then. */
  readonly version: number;
  readonly deliveries: readonly Delivery[];
  readonly bytes: number;
}

interface Batch {
  readonly audience: readonly Topic[];
  readonly messages: Message[];
  bytes: number;
  /** Deliveries that are still to be made, near enough. */
  owed: number;
  /** Who is to be served; undefined: none has been yet, and more messages may join. */
  walk: Iterator<Subscriber> | undefined;
}

/** What one message takes in the queue beside its bytes. */
const MESSAGE_OVERHEAD_BYTES = 256;
/**
 * Of one turn. Who was served is written to at its end, which costs time by the number of clients and by
 * the bytes, and by then the clock could only tell that it was too much.
 */
const SERVED_MAX = 128;
const SERVED_BYTES_MAX = 2 * 1024 * 1024;
/** Deliveries between two looks at the clock. */
const LOOKED_DELIVERIES = 16;
/** So many deliveries are made without a batch when nothing waits. */
const AT_ONCE_MAX = 16;
/** How long those that were held back have in a turn, beside deliveries. */
const ADMIT_MS = limits.turnMs / 2;

export class PacedDelivery {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>;
  readonly #share: TurnShare;
  readonly #batches = new Fifo<Batch>();
  /** Held back: what peers posted, and publishers of this node. */
  readonly #posts = new Fifo<() => void>();
  readonly #publishers = new Fifo<() => void>();
  #bytes = 0;
  #owed = 0;
  /** In this turn. */
  readonly #served = new Set<Subscriber>();
  #servedBytes = 0;
  #closed = false;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'endOfTurn'>) {
    this.#clock = clock;
    this.#share = new TurnShare(clock, () => this.#onTurnEnd(), LOOKED_DELIVERIES);
  }

  /** Whether more may come without being held back. */
  get hasRoom(): boolean {
    return this.#bytes < limits.deliveries.bytesMax && this.#owed < limits.deliveries.waitingMax;
  }

  /** Whether what comes will wait. */
  get isBusy(): boolean {
    return this.#share.isOver || this.#batches.length > 0;
  }

  /** To the subscribers of these topics: at once, as far as this turn allows. */
  deliver(audience: readonly Topic[], message: Message): void {
    let owed = 0;
    for (const { local } of audience) owed += local.size;
    this.#share.begin();
    if (owed <= AT_ONCE_MAX && !this.isBusy) return this.#deliverAtOnce(audience, message);
    const batch = this.#batchFor(audience, message);
    batch.messages.push(message);
    batch.bytes += message.bytes + MESSAGE_OVERHEAD_BYTES;
    batch.owed += owed;
    this.#bytes += message.bytes + MESSAGE_OVERHEAD_BYTES;
    this.#owed += owed;
    this.#work();
    while (this.#isBeyond()) this.#step();
  }

  /** Publishes once there is room; those who wait have their turn in the order they came. */
  whenRoom<T>(publish: () => T): T | Promise<T> {
    if (this.#publishers.length === 0 && this.hasRoom) return publish();
    this.#share.begin();
    return new Promise((resolve) => this.#publishers.push(() => resolve(publish())));
  }

  /** Whether what a peer has just posted may be taken in this turn: to be asked once for each. */
  mayTakePost(): boolean {
    this.#share.begin();
    this.#share.note();
    return !this.#share.isOver && this.#posts.length === 0 && this.hasRoom;
  }

  /** Takes what a peer posted in a later turn, in order. */
  postLater(take: () => void): void {
    this.#share.begin();
    this.#posts.push(take);
  }

  /** The node stops: what waits is nobody's any more. */
  close(): void {
    this.#closed = true;
    this.#batches.clear();
    this.#posts.clear();
    this.#publishers.clear();
  }

  /** Nobody waits, and there are few: no batch is needed. */
  #deliverAtOnce(audience: readonly Topic[], { version, deliveries, bytes }: Message): void {
    for (let at = 0; at < audience.length; at++) {
      for (const [subscriber, since] of audience[at]!.local) {
        if (since > version) break;
        subscriber.deliver(deliveries[at]!);
        this.#count(subscriber, 1, bytes);
      }
    }
  }

  #batchFor(audience: readonly Topic[], { bytes }: Message): Batch {
    const last = this.#batches.last;
    if (last !== undefined && joins(last, audience, bytes)) return last;
    const batch: Batch = { audience, messages: [], bytes: 0, owed: 0, walk: undefined };
    this.#batches.push(batch);
    return batch;
  }

  /** The next turn has a share of its own, which what waits begins. */
  #onTurnEnd(): void {
    this.#served.clear();
    this.#servedBytes = 0;
    const waiting = this.#batches.length + this.#posts.length + this.#publishers.length;
    if (waiting === 0 || this.#closed) return;
    this.#share.begin();
    this.#work();
    // a publisher's message must not reach itself before the reply does: what is admitted is delivered later
    this.#share.end();
    this.#admit();
  }

  #work(): void {
    while (!this.#share.isOver && this.#batches.length > 0) this.#step();
  }

  /** Those that were held back, by turns, while there is room and time. */
  #admit(): void {
    const sinceMs = this.#clock.monotonicMs();
    while (this.#posts.length + this.#publishers.length > 0 && this.hasRoom) {
      this.#posts.shift()?.();
      if (this.hasRoom) this.#publishers.shift()?.();
      if (this.#clock.monotonicMs() - sinceMs >= ADMIT_MS) return;
    }
  }

  /** One subscriber. */
  #step(): void {
    const batch = this.#batches.first!;
    batch.walk ??= walk(batch);
    const { value: subscriber, done } = batch.walk.next();
    if (done) return this.#endBatch(batch);
    const given = Math.min(serve(batch, subscriber), batch.owed);
    batch.owed -= given;
    this.#owed -= given;
    this.#count(subscriber, given, batch.bytes);
  }

  #count(subscriber: Subscriber, given: number, bytes: number): void {
    this.#served.add(subscriber);
    this.#servedBytes += bytes;
    this.#share.note(given);
    const isFull = this.#served.size >= SERVED_MAX || this.#servedBytes >= SERVED_BYTES_MAX;
    if (isFull) this.#share.end();
  }

  #endBatch(batch: Batch): void {
    this.#batches.shift();
    this.#bytes -= batch.bytes;
    this.#owed -= batch.owed;
  }

  /** Somebody who does not wait publishes faster than subscribers are served. */
  #isBeyond(): boolean {
    if (this.#batches.length < 2) return false;
    return (
      this.#bytes > 2 * limits.deliveries.bytesMax || this.#owed > 2 * limits.deliveries.waitingMax
    );
  }
}

/** Whether a message of so many bytes for `audience` may be one of the batch. */
function joins(batch: Batch, audience: readonly Topic[], bytes: number): boolean {
  return (
    batch.walk === undefined &&
    batch.bytes + bytes <= limits.deliveries.batchBytes &&
    batch.audience.length === audience.length &&
    batch.audience.every((topic, at) => topic === audience[at])
  );
}

/**
 * Everybody a batch is for, each once. A topic's subscribers come in the order in which they
 * subscribed; who leaves during the walk is not met, and who joins, or comes back, is too late.
 */
function* walk({ audience, messages }: Batch): Iterator<Subscriber, undefined> {
  // what a peer posted has waited: it may be older than what came before it
  const version = Math.max(...messages.map((message) => message.version));
  const met = audience.length > 1 ? new Set<Subscriber>() : undefined;
  for (const { local } of audience) {
    for (const [subscriber, since] of local) {
      if (since > version) break;
      if (met?.has(subscriber)) continue;
      met?.add(subscriber);
      yield subscriber;
    }
  }
  return undefined;
}

/** All of the batch that is for one subscriber, in order; how many deliveries that were. */
function serve({ audience, messages }: Batch, subscriber: Subscriber): number {
  let given = 0;
  for (const { version, deliveries } of messages) {
    for (let at = 0; at < audience.length; at++) {
      const since = audience[at]!.local.get(subscriber);
      if (since === undefined || since > version) continue;
      subscriber.deliver(deliveries[at]!);
      given++;
    }
  }
  return given;
}
