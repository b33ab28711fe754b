/**
 * Tells the cluster where this placedriver's HTTP API is, under a lease, while it runs. The lease
 * also says whether the metadata store is within reach: what is told meanwhile may be old.
 */
import { type Clock, sleep } from '../../common/clock.ts';
import { anyAborted } from '../../common/either-signal.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import type { Logger } from '../../common/log.ts';
import { decodeRecord, recordKinds } from '../../meta/records.ts';
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
  /** Monotone; when the lease was lost, or when it began to try. */
  #lostAtMs: number;
  /** Why it is not registered while another placedriver has its name. */
  #rival: string | undefined;
  readonly #first = new AbortController();

  constructor(options: RegistrationOptions) {
    this.#options = options;
    this.#lostAtMs = options.clock.monotonicMs();
  }

  /** For how long the store has not been within reach; undefined while it is. */
  get awayForMs(): number | undefined {
    if (this.#lease !== undefined && !this.#lease.lost.aborted) return undefined;
    return Math.max(0, Math.round(this.#options.clock.monotonicMs() - this.#lostAtMs));
  }

  /** Undefined while no other placedriver is registered under this one's name. */
  get rival(): string | undefined {
    return this.#rival;
  }

  /**
   * Resolves once it has been registered: who is not cannot be found, and a request for the master
   * would be sent to the other one of its name. Rejects when `signal` aborts.
   */
  async registered(signal: AbortSignal): Promise<void> {
    await anyAborted(this.#first.signal, signal);
    if (!this.#first.signal.aborted) throw signal.reason;
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

  /** Until the lease is lost, or it stops. */
  async #hold(record: PlacedriverRecord): Promise<void> {
    const { store, clock, leaseTtlMs } = this.#options;
    const lease = await store.grantLease(leaseTtlMs);
    this.#lease = lease;
    try {
      await this.#register(record, lease);
      await anyAborted(lease.lost, this.#stop.signal);
    } finally {
      this.#lostAtMs = clock.monotonicMs();
      this.#lease = undefined;
      await lease.revoke().catch(() => {});
    }
  }

  /** Waits while another placedriver has the name; returns when it is registered, or ends. */
  async #register(record: PlacedriverRecord, lease: Lease): Promise<void> {
    const { store, clock, logger, leaseTtlMs } = this.#options;
    const key = keys.placedriver(record.name);
    const beganMs = clock.monotonicMs();
    let told: 'nothing' | 'warned' | 'all' = 'nothing';
    while (!lease.lost.aborted && !this.#stop.signal.aborted) {
      const known = await store.get(key);
      this.#rival = known && rivalIn(key, known.value, record);
      if (this.#rival === undefined) {
        const compare = { key, modRevision: known?.modRevision ?? 0 };
        const put = { type: 'put' as const, key, value: encodeRecord(record), lease };
        const { succeeded } = await store.transaction([compare], [put]);
        if (!succeeded) continue;
        this.#first.abort();
        return;
      }
      // a former life of this one, at another address, would be gone by then
      const isLong = clock.monotonicMs() - beganMs >= leaseTtlMs * 2;
      if (told === 'nothing') logger.warn('not registered', { error: this.#rival });
      else if (told === 'warned' && isLong) logger.error('not registered', { error: this.#rival });
      told = isLong ? 'all' : 'warned';
      await sleep(clock, RETRY_MS, this.#stop.signal).catch(() => {});
    }
  }
}

/** Why `own` must not take the place of what is registered; a record that cannot be read may go. */
function rivalIn(key: string, value: string, own: PlacedriverRecord): string | undefined {
  let other: PlacedriverRecord;
  try {
    other = decodeRecord(recordKinds.placedriver, key, value);
  } catch {
    return undefined;
  }
  const { name, host, httpPort } = other;
  if (host === own.host && httpPort === own.httpPort) return undefined;
  return (
    `another placedriver has the name ${name}, and is registered at ${host}:${httpPort}: this one ` +
    `(${own.host}:${own.httpPort}) is not registered and cannot be master until that ends; give one ` +
    'of the two another name'
  );
}
