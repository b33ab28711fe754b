/** The latest events of the store, for watches and reads of the past; bounded, oldest go first. */
import { limits } from '../../common/limits.ts';
import type { KeyValue } from './messages.ts';

export interface HistoryEvent {
  readonly revision: number;
  readonly type: 'put' | 'delete';
  /** Of a delete: key and modRevision only. */
  readonly kv: KeyValue;
  readonly prevKv: KeyValue | undefined;
}

export class History {
  #events: HistoryEvent[] = [];
  #head = 0;
  #bytes = 0;
  #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  /** Every event of this revision and later is here. */
  get from(): number {
    return this.#from;
  }

  /** Revision of the newest event; 0 when there is none. */
  get newest(): number {
    return this.#events.at(-1)?.revision ?? 0;
  }

  get length(): number {
    return this.#events.length - this.#head;
  }

  push(event: HistoryEvent): void {
    this.#events.push(event);
    this.#bytes += sizeOf(event);
  }

  /** Drops whole revisions, oldest first, until the bounds hold; never the newest revision. */
  trim(): void {
    const { newest } = this;
    while (this.length > limits.metaHistoryEventsMax || this.#bytes > limits.metaHistoryBytesMax) {
      const oldest = this.#events[this.#head];
      if (oldest === undefined || oldest.revision === newest) return;
      this.compact(oldest.revision + 1);
    }
  }

  /** Forgets what is older than `revision`. */
  compact(revision: number): void {
    if (revision <= this.#from) return;
    this.#from = revision;
    for (;;) {
      const event = this.#events[this.#head];
      if (event === undefined || event.revision >= revision) break;
      this.#bytes -= sizeOf(event);
      this.#head++;
    }
    if (this.#head > 1_024 && this.#head * 2 > this.#events.length) {
      this.#events = this.#events.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Events from `revision` on, in order. */
  *since(revision: number): Generator<HistoryEvent> {
    for (let i = this.#firstAt(revision); i < this.#events.length; i++) yield this.#events[i]!;
  }

  /** Events after `revision`, newest first. */
  *undo(revision: number): Generator<HistoryEvent> {
    for (let i = this.#events.length - 1; i >= this.#head; i--) {
      const event = this.#events[i]!;
      if (event.revision <= revision) return;
      yield event;
    }
  }

  #firstAt(revision: number): number {
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision < revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function sizeOf({ kv, prevKv }: HistoryEvent): number {
  return 128 + kv.key.length + kv.value.length + (prevKv?.value.length ?? 0);
}
