/**
 * Tells the metadata store who leads: compare-and-put on the term (decision 17), the newest news
 * of each partition only, retried while the store is away.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { decodeRecord, encodeRecord, keys, type LeaderRecord } from '../../meta/schema.ts';
import type { MetaStore } from '../../meta/store.ts';

const RETRY_MS = 500;

export class LeaderReporter {
  readonly #store: MetaStore;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  /** Key → newest record not yet written. */
  readonly #news = new Map<string, LeaderRecord>();
  #running: Promise<void> | undefined;

  constructor(store: MetaStore, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  report(record: LeaderRecord): void {
    this.#news.set(keys.leader(record.namespace, record.partition), record);
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopping'));
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#news.size > 0 && !this.#stop.signal.aborted) {
      const [key, record] = this.#news.entries().next().value!;
      try {
        await this.#write(key, record);
        if (this.#news.get(key) === record) this.#news.delete(key);
      } catch (failure) {
        this.#logger.debug('leader not reported yet', { key, error: messageOf(failure) });
        await sleep(this.#clock, RETRY_MS, this.#stop.signal).catch(() => {});
      }
    }
    this.#running = undefined;
  }

  /** Succeeds when the store holds this record or one of a higher term. */
  async #write(key: string, record: LeaderRecord): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const known = await this.#store.get(key);
      if (known && decodeRecord<LeaderRecord>(key, known.value).term >= record.term) return;
      const { succeeded } = await this.#store.transaction(
        [{ key, modRevision: known?.modRevision ?? 0 }],
        [{ type: 'put', key, value: encodeRecord(record) }],
      );
      if (succeeded) return;
    }
  }
}
