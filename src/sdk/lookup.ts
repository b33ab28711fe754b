/**
 * Keeps the table of partitions: looks it up every few seconds with jitter, and at once when a
 * command has met a change; never twice at a time.
 */
import type { Clock, Timer } from '../common/clock.ts';
import type { Random } from '../common/random.ts';
import { PartitionTable, type TableSource } from './table.ts';

export interface LookupOptions {
  readonly source: TableSource;
  readonly clock: Clock;
  readonly random: Random;
  /** Between two lookups, give or take a fifth. */
  readonly intervalMs: number;
  /**
   * At least so long between two lookups that commands ask for; it doubles up to `intervalMs` while
   * there is no first table.
   */
  readonly restMs: number;
  changed(table: PartitionTable): Promise<void>;
  failed(error: Error): void;
}

export class Lookup {
  readonly #options: LookupOptions;
  #table: PartitionTable | undefined;
  #error: Error | undefined;
  #timer: Timer | undefined;
  #under: Promise<void> | undefined;
  /** Somebody asked while a lookup was under way: it may have read what was before. */
  #again = false;
  /** The next lookup is one that somebody asked for. */
  #asked = false;
  #lastMs = Number.NEGATIVE_INFINITY;
  readonly #stop = new AbortController();

  /** In a row. */
  #failures = 0;
  /** For now, from the last lookup to one that is asked for. */
  #restMs: number;

  constructor(options: LookupOptions) {
    this.#options = options;
    this.#restMs = options.restMs;
  }

  get table(): PartitionTable | undefined {
    return this.#table;
  }

  /** Why the last lookup failed; undefined when it did not. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Looks up as soon as the rest since the last lookup allows. */
  refresh(): void {
    if (this.#stop.signal.aborted) return;
    this.#asked = true;
    if (this.#under !== undefined) {
      this.#again = true;
      return;
    }
    const waitMs = this.#lastMs + this.#restMs - this.#options.clock.monotonicMs();
    if (waitMs > 0) this.#plan(waitMs);
    else this.#begin();
  }

  /** Ends for good, with what is under way; resolves when that has ended. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    await this.#under;
  }

  #plan(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(delayMs, () => this.#begin());
  }

  #begin(): void {
    if (this.#under !== undefined || this.#stop.signal.aborted) return;
    this.#timer?.cancel();
    this.#again = false;
    this.#lastMs = this.#options.clock.monotonicMs();
    const elsewhere = this.#asked && this.#table !== undefined;
    this.#asked = false;
    const look = this.#look(elsewhere);
    // what a listener throws is rejected where nobody catches it, so that the process hears of it
    void look.finally(() => this.#ended());
    this.#under = look.catch(() => {});
  }

  #ended(): void {
    this.#under = undefined;
    if (this.#stop.signal.aborted) return;
    this.#setRest();
    const { intervalMs, random } = this.#options;
    const hurry = this.#again || this.#table === undefined;
    this.#plan(hurry ? this.#restMs : intervalMs * (0.8 + random.float() * 0.4));
  }

  /** Without a first table nothing else slows the lookups down while they fail. */
  #setRest(): void {
    const { clock, intervalMs, restMs, random } = this.#options;
    this.#failures = this.#error === undefined ? 0 : this.#failures + 1;
    this.#restMs = restMs;
    if (this.#failures === 0 || this.#table !== undefined) return;
    this.#lastMs = clock.monotonicMs();
    const doubledMs = Math.min(intervalMs, restMs * 2 ** (this.#failures - 1));
    this.#restMs = doubledMs * (0.8 + random.float() * 0.4);
  }

  /** Rejects with what a listener throws, and nothing else. */
  async #look(elsewhere: boolean): Promise<void> {
    const table = await this.#newTable(elsewhere);
    if (table !== undefined) await this.#options.changed(table);
  }

  async #newTable(elsewhere: boolean): Promise<PartitionTable | undefined> {
    const { source, failed } = this.#options;
    try {
      const epoch = this.#table?.content.epoch;
      const content = await source.fetch(epoch, this.#stop.signal, elsewhere);
      this.#error = undefined;
      if (content === undefined || this.#stop.signal.aborted) return undefined;
      this.#table = new PartitionTable(content);
      return this.#table;
    } catch (error) {
      this.#error = error instanceof Error ? error : new Error(String(error));
      if (!this.#stop.signal.aborted) failed(this.#error);
      return undefined;
    }
  }
}
