/**
 * Tells the cluster where this placedriver's HTTP API is, under a lease, while it runs. The lease
 * also says whether the metadata store is within reach: what is told meanwhile may be old.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { anyAborted } from '../../common/either-signal.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { encodeRecord, keys, type PlacedriverRecord } from '../../meta/schema.ts';
import type { Lease, MetaStore } from '../../meta/store.ts';

export interface RegistrationOptions {
  readonly store: MetaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly leaseTtlMs: number;
}

const RETRY_MS = 500;

export class Registration {
  readonly #options: RegistrationOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #lease: Lease | undefined;
  /** Monotone; when it was last known to be registered, or when it began to try. */
  #lostAtMs: number;

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#lostAtMs = options.clock.monotonicMs();
  }

  /** For how long the store has not been within reach; undefined while it is. */
  get awayForMs(): number | undefined {
    if (this.#lease !== undefined && !this.#lease.lost.aborted) return undefined;
    return Math.max(0, Math.round(this.#options.clock.monotonicMs() - this.#lostAtMs));
  }

  start(record: PlacedriverRecord): void {
    this.#running = this.#run(record);
  }

  /** Unregisters. */
  async stop(): Promise<void> {
    this.#stop.abort(new KvorumError('STOPPING', 'the placedriver stops'));
    await this.#running;
  }

  async #run(record: PlacedriverRecord): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    let told = false;
    while (!signal.aborted) {
      try {
        await this.#hold(record);
        told = false;
      } catch (failure) {
        if (!told) logger.warn('not registered', { error: messageOf(failure) });
        told = true;
      }
      await sleep(clock, RETRY_MS, signal).catch(() => {});
    }
  }

  /** Registered from now on until the lease is lost, or it stops. */
  async #hold(record: PlacedriverRecord): Promise<void> {
    const { store, clock, leaseTtlMs } = this.#options;
    const lease = await store.grantLease(leaseTtlMs);
    try {
      await store.put(keys.placedriver(record.name), encodeRecord(record), lease);
      this.#lease = lease;
      await anyAborted(lease.lost, this.#stop.signal);
    } finally {
      if (this.#lease !== undefined) this.#lostAtMs = clock.monotonicMs();
      this.#lease = undefined;
      await lease.revoke().catch(() => {});
    }
  }
}
