/**
 * Work on the engines of all replicas, one at a time and in turn: what was written behind is
 * synced so that the log may go (decision 7); the elements of deleted collections are removed (14);
 * every table is read through at a bounded rate, because LevelDB serves a flipped bit without
 * noticing (7d).
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { codeOf, messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import type { EngineHost } from '../engine/engine.ts';
import type { HostSettings } from './host-settings.ts';
import type { Replica } from './replica.ts';

/** After each slice of garbage: about 50,000 elements a second go. */
const GARBAGE_PAUSE_MS = 10;

export interface UpkeepGround {
  readonly clock: Clock;
  readonly engines: EngineHost;
  readonly settings: HostSettings;
  replicas(): readonly Replica[];
  onFault(replica: Replica, error: unknown): void;
}

export class Upkeep {
  readonly #ground: UpkeepGround;
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];
  #nextSync = 0;

  constructor(ground: UpkeepGround) {
    this.#ground = ground;
  }

  start(): void {
    const { engineSyncIntervalMs, scrubPauseMs } = this.#ground.settings;
    this.#running = [
      this.#every(engineSyncIntervalMs, () => this.#syncNext()),
      this.#every(engineSyncIntervalMs, () => this.#removeGarbage()),
      this.#every(scrubPauseMs, () => this.#scrubAll()),
    ];
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopping'));
    await Promise.all(this.#running);
  }

  /** A read came across damage in a replica that has stopped: says in which file it is, and where. */
  locate({ engineName }: Replica, logger: Logger): void {
    const work = this.#ground.engines.verifyTables(engineName, (bytes) => this.#pace(bytes));
    work.catch((failure) => {
      if (codeOf(failure) === 'CORRUPT') {
        logger.error('where the damage is', { engine: engineName, error: messageOf(failure) });
      }
    });
  }

  async #every(pauseMs: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(this.#ground.clock, pauseMs, signal).catch(() => {});
      if (!signal.aborted) await work();
    }
  }

  /** The next replica, in turn, that holds more than was last synced. */
  async #syncNext(): Promise<void> {
    const all = this.#ground.replicas();
    for (let tried = 0; tried < all.length; tried++) {
      const replica = all[this.#nextSync++ % all.length]!;
      if (replica.stopped || replica.appliedIndex <= replica.slot.syncedIndex) continue;
      await replica.syncAndCompact().catch((failure) => this.#onFailure(replica, failure));
      return;
    }
  }

  /** A slice of every replica that has any, with a pause after each, until none is left. */
  async #removeGarbage(): Promise<void> {
    const { clock } = this.#ground;
    for (let found = true; found && !this.#stop.signal.aborted; ) {
      found = false;
      for (const replica of this.#ground.replicas()) {
        const { garbage } = replica.slot;
        if (replica.stopped || !garbage.pending) continue;
        await garbage.removeSlice().catch((failure) => this.#onFailure(replica, failure));
        await sleep(clock, GARBAGE_PAUSE_MS, this.#stop.signal).catch(() => {});
        found ||= garbage.pending;
      }
    }
  }

  async #scrubAll(): Promise<void> {
    for (const replica of this.#ground.replicas()) {
      if (this.#stop.signal.aborted) return;
      const name = replica.engineName;
      try {
        await this.#ground.engines.verifyTables(name, (bytes) => this.#pace(bytes));
      } catch (failure) {
        // an engine that was exchanged meanwhile takes its files with it
        if (name === replica.engineName) this.#onFailure(replica, failure);
      }
    }
  }

  #onFailure(replica: Replica, failure: unknown): void {
    const ends = codeOf(failure) === 'STOPPING' || this.#stop.signal.aborted;
    if (!ends && !replica.stopped) this.#ground.onFault(replica, failure);
  }

  /** Bounds the rate; rejects when the node stops. */
  #pace(bytes: number): Promise<void> {
    const { scrubBytesPerSecond } = this.#ground.settings;
    return sleep(this.#ground.clock, (bytes / scrubBytesPerSecond) * 1_000, this.#stop.signal);
  }
}
