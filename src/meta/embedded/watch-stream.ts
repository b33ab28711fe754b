/**
 * One client's watch stream. Nothing is queued per watch: events are read from the history when the
 * client takes more, so a slow one costs no memory; one that falls out of the history is told
 * "compacted", and lists again.
 */
import { limits } from '../../common/limits.ts';
import type { HistoryEvent } from './history.ts';
import { inRange, keyText } from './key-space.ts';
import type { LocalStore } from './local-store.ts';
import type { EventMessage, WatchCreate, WatchRequest, WatchResponse } from './messages.ts';

export interface WatchSink {
  /** False: wait for `drained`. */
  write(response: Partial<WatchResponse>): boolean;
}

interface ActiveWatch {
  readonly id: number;
  readonly create: WatchCreate;
  readonly start: string;
  readonly end: string;
  next: number;
}

export class WatchStream {
  readonly #store: LocalStore;
  readonly #sink: WatchSink;
  readonly #watches = new Map<number, ActiveWatch>();
  readonly #unsubscribe: () => void;
  #nextId = 0;
  #blocked = false;

  constructor(store: LocalStore, sink: WatchSink) {
    this.#store = store;
    this.#sink = sink;
    this.#unsubscribe = store.onDurable(() => this.#pump());
  }

  receive({ create, cancel, progress }: WatchRequest): void {
    if (create) this.#create(create);
    else if (cancel) this.#cancel(cancel.watchId, 0, '');
    else if (progress) this.#send({ watchId: -1 });
  }

  drained(): void {
    this.#blocked = false;
    this.#pump();
  }

  close(): void {
    this.#unsubscribe();
    this.#watches.clear();
  }

  #create(create: WatchCreate): void {
    let id = create.watchId;
    if (id === 0) {
      while (this.#watches.has(this.#nextId)) this.#nextId++;
      id = this.#nextId++;
    }
    const full = this.#watches.size >= limits.metaWatchesPerStreamMax;
    if (full || this.#watches.has(id) || create.key.length === 0) {
      const cancelReason = full ? 'etcdserver: too many watches' : 'etcdserver: bad watch request';
      this.#send({ watchId: -1, created: true, canceled: true, cancelReason });
      return;
    }
    const next = create.startRevision > 0 ? create.startRevision : this.#store.durableRevision + 1;
    const start = keyText(create.key);
    this.#watches.set(id, { id, create, start, end: keyText(create.rangeEnd), next });
    this.#send({ watchId: id, created: true });
    this.#pump();
  }

  #cancel(watchId: number, compactRevision: number, cancelReason: string): void {
    if (!this.#watches.delete(watchId)) return;
    this.#send({ watchId, canceled: true, compactRevision, cancelReason });
  }

  #send(response: Partial<WatchResponse>): void {
    const header = this.#store.durableHeader();
    if (!this.#sink.write({ ...response, header })) this.#blocked = true;
  }

  #pump(): void {
    for (const watch of [...this.#watches.values()]) {
      while (!this.#blocked && watch.next <= this.#store.durableRevision) {
        if (!this.#advance(watch)) break;
      }
    }
  }

  /** Sends one response of whole revisions; false when the watch is gone. */
  #advance(watch: ActiveWatch): boolean {
    const { history } = this.#store.state;
    if (watch.next < history.from) {
      const reason = 'etcdserver: mvcc: required revision has been compacted';
      this.#cancel(watch.id, history.from, reason);
      return false;
    }
    const events: EventMessage[] = [];
    let bytes = 0;
    let reached = this.#store.durableRevision;
    for (const event of history.since(watch.next)) {
      if (event.revision > this.#store.durableRevision) break;
      const begins = event.revision !== events.at(-1)?.kv?.modRevision;
      if (begins && bytes > limits.metaWatchResponseBytes) {
        reached = event.revision - 1;
        break;
      }
      if (!wanted(watch, event)) continue;
      events.push(messageOf(watch, event));
      bytes += event.kv.key.length + event.kv.value.length + 64;
    }
    watch.next = reached + 1;
    if (events.length > 0) this.#send({ watchId: watch.id, events });
    return true;
  }
}

function wanted({ create, start, end }: ActiveWatch, { type, kv }: HistoryEvent): boolean {
  if (create.filters.includes(type === 'put' ? 0 : 1)) return false;
  return inRange(keyText(kv.key), start, end);
}

function messageOf({ create }: ActiveWatch, { type, kv, prevKv }: HistoryEvent): EventMessage {
  const event = { type: type === 'put' ? 0 : 1, kv };
  return create.prevKv && prevKv ? { ...event, prevKv } : event;
}
