/**
 * Tells the metadata store what this node sees: by compare-and-put, the newest news of each key
 * only, retried while the store is away. A record that cannot be read is never written over (it may
 * be newer than the news); its news wait for somebody to remove it, the others go on.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { codeOf, messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { decodeRecord, type RecordKind } from '../../meta/records.ts';
import { encodeRecord } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';

const RETRY_MS = 500;

export interface ReporterOptions<T> {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly kind: RecordKind<T>;
  /** What the store holds is as good as, or newer than, the news: they are dropped. */
  isKnown(stored: T, news: T): boolean;
}

export class Reporter<T extends { readonly version: number }> {
  readonly #options: ReporterOptions<T>;
  readonly #stop = new AbortController();
  /** Key → newest record not yet written. */
  readonly #news = new Map<string, T>();
  /** Keys whose records cannot be read: each is logged once. */
  readonly #unreadable = new Set<string>();
  #running: Promise<void> | undefined;

  constructor(options: ReporterOptions<T>) {
    this.#options = options;
  }

  report(key: string, record: T): void {
    this.#news.set(key, record);
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopping'));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (this.#news.size > 0 && !this.#stop.signal.aborted) {
      const [key, record] = this.#news.entries().next().value!;
      try {
        await this.#write(key, record);
        if (this.#news.get(key) === record) this.#news.delete(key);
        this.#unreadable.delete(key);
      } catch (failure) {
        this.#putOff(key, failure);
        await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
      }
    }
    this.#running = undefined;
  }

  /** To the end of the line: one key's trouble does not hold up the others for long. */
  #putOff(key: string, failure: unknown): void {
    const news = this.#news.get(key)!;
    this.#news.delete(key);
    this.#news.set(key, news);
    const fields = { key, error: messageOf(failure) };
    if (codeOf(failure) !== 'BAD_RECORD' || this.#unreadable.has(key)) {
      this.#options.logger.debug('not reported yet', fields);
      return;
    }
    this.#unreadable.add(key);
    this.#options.logger.error('not reported: the record there cannot be read', fields);
  }

  async #write(key: string, record: T): Promise<void> {
    const { store, kind, isKnown } = this.#options;
    while (!this.#stop.signal.aborted) {
      const stored = await store.get(key);
      if (stored && isKnown(decodeRecord(kind, key, stored.value), record)) return;
      const { succeeded } = await store.transaction(
        [{ key, modRevision: stored?.modRevision ?? 0 }],
        [{ type: 'put', key, value: encodeRecord(record) }],
      );
      if (succeeded) return;
    }
  }
}
