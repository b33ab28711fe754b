/**
 * Tells the metadata store what this node sees: by compare-and-put, the newest news of each key
 * only, retried while the store is away.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { decodeRecord, encodeRecord } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';

const RETRY_MS = 500;

export interface ReporterOptions<T> {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What the store holds is as good as, or newer than, the news: they are dropped. */
  isKnown(stored: T, news: T): boolean;
}

export class Reporter<T extends { readonly version: number }> {
  readonly #options: ReporterOptions<T>;
  readonly #stop = new AbortController();
  /** Key → newest record not yet written. */
  readonly #news = new Map<string, T>();
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
    const { clock, logger } = this.#options;
    while (this.#news.size > 0 && !this.#stop.signal.aborted) {
      const [key, record] = this.#news.entries().next().value!;
      try {
        await this.#write(key, record);
        if (this.#news.get(key) === record) this.#news.delete(key);
      } catch (failure) {
        logger.debug('not reported yet', { key, error: messageOf(failure) });
        await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
      }
    }
    this.#running = undefined;
  }

  async #write(key: string, record: T): Promise<void> {
    const { store, isKnown } = this.#options;
    while (!this.#stop.signal.aborted) {
      const stored = await store.get(key);
      if (stored && isKnown(decodeRecord<T>(key, stored.value), record)) return;
      const { succeeded } = await store.transaction(
        [{ key, modRevision: stored?.modRevision ?? 0 }],
        [{ type: 'put', key, value: encodeRecord(record) }],
      );
      if (succeeded) return;
    }
  }
}
