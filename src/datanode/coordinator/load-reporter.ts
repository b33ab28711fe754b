/**
 * Tells now and then what this node carries, under its lease: only what has changed, and sizes only
 * when they did by a sixteenth, so that a quiet cluster writes nothing.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { encodeRecord, keys, type LoadRecord } from '../../meta/schema.ts';
import type { Lease, MetaStore } from '../../meta/store.ts';

export interface LoadReporterOptions {
  readonly store: Pick<MetaStore, 'put'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly loadReportMs: number;
  load(): Promise<LoadRecord>;
}

/** A node that has just started soon has leaders to tell of. */
const FIRST_MS = 1_000;
const SHARE = 16;

export class LoadReporter {
  readonly #options: LoadReporterOptions;

  constructor(options: LoadReporterOptions) {
    this.#options = options;
  }

  /** Resolves soon after `signal` aborts: the lease, and with it what was told, is at its end. */
  async tell(lease: Lease, signal: AbortSignal): Promise<void> {
    const { clock, logger, store, loadReportMs, load } = this.#options;
    let told: LoadRecord | undefined;
    let pauseMs = Math.min(FIRST_MS, loadReportMs);
    while (!signal.aborted) {
      await sleep(clock, pauseMs, signal).catch(() => {});
      pauseMs = loadReportMs;
      if (signal.aborted) return;
      try {
        const now = await load();
        if (told !== undefined && !isNews(told, now)) continue;
        await store.put(keys.load(now.node), encodeRecord(now), lease);
        told = now;
      } catch (failure) {
        logger.debug('load not reported yet', { error: messageOf(failure) });
      }
    }
  }
}

function isNews(told: LoadRecord, now: LoadRecord): boolean {
  const moved = (before: number, after: number) => Math.abs(after - before) * SHARE > before;
  return (
    told.replicas !== now.replicas ||
    told.leaders !== now.leaders ||
    told.keys !== now.keys ||
    told.stopped?.join() !== now.stopped?.join() ||
    moved(told.diskBytes, now.diskBytes) ||
    moved(told.memoryBytes, now.memoryBytes)
  );
}
