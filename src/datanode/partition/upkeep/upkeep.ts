/**
 * Work on the engines of all replicas, one at a time and in turn: what was written behind is synced
 * so that the log may go (decision 7); the elements of deleted collections are removed (decision 14):
 * looked for in those replicas alone that were not found at rest with nothing left to do; every table
 * is read through at a bounded rate, because LevelDB serves a flipped bit without noticing
 * (decision 7d).
 */
import { type Clock, sleep } from '../../../common/clock.ts';
import { codeOf, messageOf } from '../../../common/errors.ts';
import type { Logger } from '../../../common/log.ts';
import type { EngineHost } from '../../engine/engine.ts';
import type { HostSettings } from '../host/host-settings.ts';
import type { Replica } from '../replica/replica.ts';

/** After each slice of garbage: 12,000 elements a second go at most. */
const GARBAGE_PAUSE_MS = 10;

export interface UpkeepGround {
  readonly clock: Clock;
  readonly engines: EngineHost;
  readonly settings: HostSettings;
  replicas(): readonly Replica[];
  /** Nothing happens to it before `watch` is called again. */
  rests(replica: Replica): boolean;
  onFault(replica: Replica, error: unknown): void;
}

export class Upkeep {
  readonly #ground: UpkeepGround;
  readonly #stop = new AbortController();
  #running: readonly Promise<void>[] = [];
  /** Those synced last come last. */
  readonly #toSync = new Set<Replica>();
  readonly #toClean = new Set<Replica>();
  /** Loops that found nothing to look at. */
  #waiting: (() => void)[] = [];

  constructor(ground: UpkeepGround) {
    this.#ground = ground;
  }

  start(): void {
    const { engineSyncIntervalMs, scrubPauseMs } = this.#ground.settings;
    this.#running = [
      this.#every(engineSyncIntervalMs, () => this.#syncNext(), this.#toSync),
      this.#every(engineSyncIntervalMs, () => this.#removeGarbage(), this.#toClean),
      this.#every(scrubPauseMs, () => this.#scrubAll()),
    ];
  }

  /** It does not rest, or not any more. */
  watch(replica: Replica): void {
    this.#toSync.add(replica);
    this.#toClean.add(replica);
    this.#goOn();
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error('stopping'));
    this.#goOn();
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

  #goOn(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const goOn of waiting) goOn();
  }

  /** `of`: while it is empty there is nothing to do. */
  async #every(
    pauseMs: number,
    work: () => Promise<void>,
    of?: ReadonlySet<Replica>,
  ): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      if (of?.size === 0) await new Promise<void>((goOn) => this.#waiting.push(goOn));
      await sleep(this.#ground.clock, pauseMs, signal).catch(() => {});
      if (!signal.aborted) await work();
    }
  }

  /** The next replica, in turn, that holds more than was last synced. */
  async #syncNext(): Promise<void> {
    for (const replica of this.#toSync) {
      const isSynced = replica.appliedIndex <= replica.slot.syncedIndex;
      if (this.#isDone(replica, isSynced)) this.#toSync.delete(replica);
      if (replica.stopped || isSynced) continue;
      this.#toSync.delete(replica);
      this.#toSync.add(replica);
      await replica.syncAndCompact().catch((failure) => this.#onFailure(replica, failure));
      return;
    }
  }

  /** A slice of every replica that has any, with a pause after each, until none is left. */
  async #removeGarbage(): Promise<void> {
    const { clock } = this.#ground;
    for (let found = true; found && !this.#stop.signal.aborted; ) {
      found = false;
      for (const replica of [...this.#toClean]) {
        const { garbage } = replica.slot;
        if (this.#isDone(replica, !garbage.pending)) this.#toClean.delete(replica);
        if (replica.stopped || !garbage.pending) continue;
        await garbage.removeSlice().catch((failure) => this.#onFailure(replica, failure));
        await sleep(clock, GARBAGE_PAUSE_MS, this.#stop.signal).catch(() => {});
        found ||= garbage.pending;
      }
    }
  }

  #isDone(replica: Replica, hasNothing: boolean): boolean {
    return replica.stopped || (hasNothing && this.#ground.rests(replica));
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
