/** A lease of etcd, kept alive over one stream; it ends by our clock before it ends by etcd's. */
import type { IDuplexStream, ILeaseKeepAliveRequest, ILeaseKeepAliveResponse } from 'etcd3';
import type { Timer } from '../common/clock.ts';
import { messageOf } from '../common/errors.ts';
import type { EtcdConnection } from './etcd-connection.ts';
import type { Lease } from './store.ts';

type KeepAliveStream = IDuplexStream<ILeaseKeepAliveRequest, ILeaseKeepAliveResponse>;

/** Of the TTL: how often it is renewed, and how long before its end it counts as lost. */
const RENEW_SHARE = 1 / 3;
const MARGIN_SHARE = 1 / 10;

export class EtcdLease implements Lease {
  readonly id: string;
  readonly #connection: EtcdConnection;
  readonly #ttlMs: number;
  readonly #lost = new AbortController();
  #stream: KeepAliveStream | undefined;
  #opening = false;
  /** When the keep-alives of this stream that wait for their answers were sent; oldest first. */
  #sentMs: number[] = [];
  #endsMs: number;
  #timer: Timer | undefined;

  private constructor(connection: EtcdConnection, id: string, ttlMs: number, askedMs: number) {
    this.#connection = connection;
    this.id = id;
    this.#ttlMs = ttlMs;
    this.#endsMs = askedMs + ttlMs * (1 - MARGIN_SHARE);
    this.#schedule();
  }

  static async grant(connection: EtcdConnection, ttlMs: number): Promise<EtcdLease> {
    const seconds = Math.max(1, Math.ceil(ttlMs / 1_000));
    const askedMs = connection.clock.monotonicMs();
    const { ID } = await connection.call('grant a lease', (options) =>
      connection.client.leaseClient.leaseGrant({ TTL: seconds }, options),
    );
    return new EtcdLease(connection, ID, seconds * 1_000, askedMs);
  }

  /** Asking looks at the clock: after a pause other events may come before the timer. */
  get lost(): AbortSignal {
    this.#checkTime();
    return this.#lost.signal;
  }

  async revoke(): Promise<void> {
    const { client } = this.#connection;
    this.#end('revoked');
    await this.#connection.call('revoke a lease', (options) =>
      client.leaseClient.leaseRevoke({ ID: this.id }, options),
    );
  }

  /** Stops renewing; the store ends it in its time. */
  abandon(): void {
    this.#end('abandoned');
  }

  /** True: it has ended. */
  #checkTime(): boolean {
    if (this.#lost.signal.aborted) return true;
    if (this.#connection.clock.monotonicMs() < this.#endsMs) return false;
    this.#end('not renewed in time');
    return true;
  }

  #schedule(): void {
    if (this.#checkTime()) return;
    const { clock } = this.#connection;
    const delayMs = Math.min(this.#ttlMs * RENEW_SHARE, this.#endsMs - clock.monotonicMs());
    this.#timer = clock.setTimer(Math.max(0, delayMs), () => {
      if (this.#checkTime()) return;
      void this.#renew();
      this.#schedule();
    });
  }

  async #renew(): Promise<void> {
    // Unanswered for a whole interval: the member is stuck, and another may answer.
    if (this.#sentMs.length > 0) this.#drop();
    const stream = this.#stream ?? (await this.#open());
    if (stream === undefined || this.#lost.signal.aborted) return;
    this.#sentMs.push(this.#connection.clock.monotonicMs());
    stream.write({ ID: this.id });
  }

  #drop(): void {
    this.#stream?.end();
    this.#stream = undefined;
    this.#sentMs = [];
  }

  async #open(): Promise<KeepAliveStream | undefined> {
    if (this.#opening) return undefined;
    this.#opening = true;
    try {
      const stream = await this.#connection.client.leaseClient.leaseKeepAlive();
      this.#stream = stream;
      const drop = () => {
        if (this.#stream === stream) this.#drop();
      };
      stream.on('error', drop);
      stream.on('end', drop);
      stream.on('data', (response: ILeaseKeepAliveResponse) => {
        if (this.#stream === stream) this.#onResponse(response);
      });
      if (this.#lost.signal.aborted) stream.end();
      return stream;
    } catch (failure) {
      this.#connection.logger.debug('lease stream failed', { error: messageOf(failure) });
      return undefined;
    } finally {
      this.#opening = false;
    }
  }

  /** Answers come in the order of the keep-alives; each counts from when its own was sent. */
  #onResponse({ header, TTL }: ILeaseKeepAliveResponse): void {
    const sentMs = this.#sentMs.shift();
    if (sentMs === undefined || this.#checkTime()) return;
    try {
      this.#connection.admit(header);
    } catch (failure) {
      return this.#end(messageOf(failure));
    }
    if (Number(TTL) <= 0) return this.#end('the store has ended it');
    this.#endsMs = sentMs + this.#ttlMs * (1 - MARGIN_SHARE);
  }

  #end(why: string): void {
    this.#timer?.cancel();
    this.#drop();
    if (!this.#lost.signal.aborted) this.#lost.abort(new Error(`lease ${this.id}: ${why}`));
  }
}
