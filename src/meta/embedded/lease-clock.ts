/**
 * Deadlines of leases, apart from the state machine: in memory only, on the monotone clock. After a
 * restart every lease starts with its full TTL.
 */
import type { Clock, Timer } from '../../common/clock.ts';

interface Deadline {
  /** 0: it is over, and to be told once more. */
  readonly ttlMs: number;
  deadlineMs: number;
}

export class LeaseClock {
  readonly #clock: Clock;
  readonly #onExpired: (id: number) => void;
  readonly #deadlines = new Map<number, Deadline>();
  #timer: Timer | undefined;
  #timerMs = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(clock: Clock, onExpired: (id: number) => void) {
    this.#clock = clock;
    this.#onExpired = onExpired;
  }

  start(id: number, ttlMs: number): void {
    this.#set(id, { ttlMs, deadlineMs: this.#clock.monotonicMs() + ttlMs });
  }

  /** One that has expired is told of again, after `delayMs`: nothing keeps it alive meanwhile. */
  tellAgain(id: number, delayMs: number): void {
    this.#set(id, { ttlMs: 0, deadlineMs: this.#clock.monotonicMs() + delayMs });
  }

  /** Starts its TTL anew; false when there is no such lease, or it has expired. */
  keepAlive(id: number): boolean {
    const lease = this.#deadlines.get(id);
    if (lease === undefined || lease.ttlMs === 0) return false;
    lease.deadlineMs = this.#clock.monotonicMs() + lease.ttlMs;
    return true;
  }

  /** Milliseconds left; undefined when there is no such lease. */
  remainingMs(id: number): number | undefined {
    const lease = this.#deadlines.get(id);
    if (lease?.ttlMs === 0) return 0;
    return lease && Math.max(0, lease.deadlineMs - this.#clock.monotonicMs());
  }

  stop(id: number): void {
    this.#deadlines.delete(id);
  }

  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #set(id: number, deadline: Deadline): void {
    this.#deadlines.set(id, deadline);
    this.#arm(deadline.deadlineMs);
  }

  #arm(deadlineMs: number): void {
    if (this.#closed || deadlineMs >= this.#timerMs) return;
    this.#timer?.cancel();
    this.#timerMs = deadlineMs;
    const delayMs = Math.max(1, Math.ceil(deadlineMs - this.#clock.monotonicMs()));
    // after a stall, the keep-alives that wait in the sockets are read before anything expires
    this.#timer = this.#clock.setTimer(Math.min(delayMs, 0x7fffffff), () =>
      this.#clock.endOfTurn(() => this.#sweep()),
    );
  }

  #sweep(): void {
    if (this.#closed) return;
    this.#timerMs = Number.POSITIVE_INFINITY;
    const now = this.#clock.monotonicMs();
    let next = Number.POSITIVE_INFINITY;
    for (const [id, { deadlineMs }] of [...this.#deadlines]) {
      if (deadlineMs > now) next = Math.min(next, deadlineMs);
      else {
        this.#deadlines.delete(id);
        this.#onExpired(id);
      }
    }
    if (next < Number.POSITIVE_INFINITY) this.#arm(next);
  }
}
