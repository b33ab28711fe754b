/**
 * What the consumers of one group are given, acknowledge and take over from each other: changes of what is
 * pending, with the counts of group and consumers, which `save` writes.
 */

import { must } from '../../../common/assert.ts';
import { limited } from '../../engine/engine.ts';
import type { CollectionPlace } from '../records/element-key.ts';
import { compareIds, MAX_STREAM_ID, type StreamId } from '../records/stream-id.ts';
import {
  decodeIdAtEnd,
  encodeConsumerKey,
  encodeConsumerNameKey,
  encodeConsumerPendingKey,
  encodePendingKey,
} from '../records/stream-key.ts';
import type { Slices } from '../steps/slices.ts';
import type { View, WriteView } from '../txn/view.ts';
import type { Stream } from './stream.ts';
import { encodeConsumer, encodeConsumerName } from './stream-consumer.ts';
import {
  type Consumer,
  consumerName,
  type Group,
  putGroup,
  rangeOfPending,
  readConsumer,
} from './stream-groups.ts';
import {
  decodePending,
  encodePending,
  PENDING_OF_CONSUMER,
  type PendingState,
} from './stream-pending.ts';
import { readWith } from './stream-progress.ts';

type Open<State> = { -readonly [Column in keyof State]: State[Column] };
export type OpenConsumer = Open<Consumer>;

/** When an entry was given to somebody, and how often by now. */
export type Delivery = Pick<PendingState, 'deliveredMs' | 'deliveries'>;

export function readPending(
  view: View,
  place: CollectionPlace,
  group: number,
  id: StreamId,
): PendingState | undefined {
  const key = encodePendingKey(place, group, id);
  const value = view.get(key);
  return value === undefined ? undefined : decodePending(key, value);
}

/** So many are acknowledged, or gone, between two looks at what is pending first. */
const DROPS_PER_LOOK = 64;

export class Deliveries {
  readonly stream: Stream;
  readonly group: Open<Group>;
  readonly #view: WriteView;
  readonly #place: CollectionPlace;
  /** Those that were met, by number. */
  readonly #consumers = new Map<number, OpenConsumer>();
  #isLookDue = false;

  constructor(view: WriteView, stream: Stream, group: Group) {
    this.stream = stream;
    this.group = { ...group };
    this.#view = view;
    this.#place = stream.place;
  }

  /** The consumer of that name, who is seen now; undefined when there is none. */
  find(name: Buffer, nowMs: number): OpenConsumer | undefined {
    const found = readConsumer(this.#view, this.#place, this.group, name);
    if (found === undefined) return undefined;
    const consumer = this.#consumers.get(found.number) ?? { ...found };
    consumer.seenMs = nowMs;
    this.#consumers.set(consumer.number, consumer);
    return consumer;
  }

  /** A new one. */
  add(name: Buffer, nowMs: number): OpenConsumer {
    const { group } = this;
    const number = group.nextConsumer++;
    group.consumers++;
    const consumer = { name, number, seenMs: nowMs, activeMs: 0, pending: 0 };
    this.#consumers.set(number, consumer);
    const nameKey = encodeConsumerNameKey(this.#place, group.number, number);
    this.#view.put(nameKey, encodeConsumerName(name));
    return consumer;
  }

  /** What is pending under the ID. */
  pendingAt(id: StreamId): PendingState | undefined {
    const { number, pending, furthestId } = this.group;
    if (pending === 0 || compareIds(id, furthestId) > 0) return undefined;
    return readPending(this.#view, this.#place, number, id);
  }

  /** The group goes on to an entry behind its last. */
  advance(id: StreamId): void {
    if (compareIds(id, this.group.lastId) <= 0) return;
    this.group.entriesRead = readWith(this.stream, this.group, id);
    this.group.lastId = id;
  }

  /** `before`: what is pending under the ID by now. */
  give(id: StreamId, to: OpenConsumer, delivery: Delivery, before: PendingState | undefined): void {
    const { group } = this;
    const key = encodePendingKey(this.#place, group.number, id);
    this.#view.put(key, encodePending({ consumer: to.number, ...delivery }));
    if (before?.consumer === to.number) return;
    if (before === undefined) this.#notePending(id);
    else this.#takeFrom(before.consumer, id);
    if (compareIds(id, group.furthestId) > 0) group.furthestId = id;
    to.pending++;
    this.#view.put(this.#ownKey(to.number, id), PENDING_OF_CONSUMER);
  }

  /** It is pending no more. */
  drop(id: StreamId, before: PendingState): void {
    this.#view.del(encodePendingKey(this.#place, this.group.number, id));
    this.group.pending--;
    if (this.group.pending % DROPS_PER_LOOK === 0) this.#isLookDue = true;
    this.#takeFrom(before.consumer, id);
  }

  /**
   * Looks, once in a while, where what is pending begins by now: most is acknowledged in its order, and
   * whoever walks from the beginning passes over all that was. To be called before `save`.
   */
  *findEarliest(): Slices<void> {
    if (!this.#isLookDue) return;
    this.#isLookDue = false;
    const { group } = this;
    const all = rangeOfPending(this.#place, group, group.earliestId, MAX_STREAM_ID);
    const [first] = yield limited(all, 1);
    if (first !== undefined) group.earliestId = decodeIdAtEnd(first[0]);
  }

  /** Writes the group, and the consumers that were met. */
  save(): void {
    putGroup(this.#view, this.#place, this.group);
    for (const consumer of this.#consumers.values()) {
      const key = encodeConsumerKey(this.#place, this.group.number, consumer.name);
      this.#view.put(key, encodeConsumer(consumer));
    }
  }

  #notePending(id: StreamId): void {
    const { group } = this;
    const isEarliest = group.pending === 0 || compareIds(id, group.earliestId) < 0;
    if (isEarliest) group.earliestId = id;
    group.pending++;
  }

  #takeFrom(number: number, id: StreamId): void {
    this.#consumerAt(number).pending--;
    this.#view.del(this.#ownKey(number, id));
  }

  #consumerAt(number: number): OpenConsumer {
    const known = this.#consumers.get(number);
    if (known !== undefined) return known;
    const name = consumerName(this.#view, this.#place, this.group, number);
    const found = readConsumer(this.#view, this.#place, this.group, name);
    const consumer = { ...must(found, 'who has a number has a record') };
    this.#consumers.set(number, consumer);
    return consumer;
  }

  #ownKey(consumer: number, id: StreamId): Buffer {
    return encodeConsumerPendingKey(this.#place, this.group.number, consumer, id);
  }
}
