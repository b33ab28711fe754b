/**
 * Who waits for the first table of partitions: in the order in which they came, and so do those who
 * come while they are let in.
 */
import type { Clock } from '../common/clock.ts';
import { onAbort } from './abort-signals.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { ownError } from './errors.ts';
import type { Lookup } from './lookup.ts';
import type { PartitionTable } from './table.ts';

export interface TableGateOptions {
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly lookup: Lookup;
  readonly waitingMax: number;
  isClosed(): boolean;
}

interface Waiter extends Timed {
  readonly isExtra: boolean;
  settle(): void;
}

/** Who is let in in one turn of the event loop: each begins to be sent in it. */
const TURN_MAX = 1_000;

export class TableGate {
  readonly #options: TableGateOptions;
  readonly #waiters = new Set<Waiter>();
  /** Commands among them. */
  #waiting = 0;
  #letsIn = false;
  /** Called when it is crowded no more. */
  #whenRoom: (() => void)[] = [];

  constructor(options: TableGateOptions) {
    this.#options = options;
  }

  /** Commands that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Undefined: it is not known, or commands wait that are to be sent first. */
  get table(): PartitionTable | undefined {
    return this.#waiting === 0 ? this.#options.lookup.table : undefined;
  }

  /** More than half of the commands that may wait do. */
  get isCrowded(): boolean {
    return this.#waiting * 2 > this.#options.waitingMax;
  }

  /** Resolves when at most half of the commands that may wait do. */
  room(): Promise<void> {
    if (!this.isCrowded) return Promise.resolve();
    return new Promise((resolve) => this.#whenRoom.push(resolve));
  }

  /**
   * Rejects with UNAVAILABLE after `timeoutMs`, ABORTED, CLOSED, or QUEUE_FULL unless it `isExtra`: no
   * command that is kept meanwhile.
   */
  wait(timeoutMs: number, signal?: AbortSignal, isExtra = false): Promise<PartitionTable> {
    const { clock, deadlines, lookup, waitingMax, isClosed } = this.#options;
    const { table: open } = this;
    if (open !== undefined) return Promise.resolve(open);
    if (!isExtra && this.#waiting >= waitingMax) {
      return Promise.reject(ownError('QUEUE_FULL', 'too many commands wait for the partitions'));
    }
    return new Promise((resolve, reject) => {
      const dueMs = clock.monotonicMs() + timeoutMs;
      let unlisten: (() => void) | undefined;
      const settle = () => {
        this.#delete(waiter);
        deadlines.delete(waiter);
        unlisten?.();
        const { table, error: cause } = lookup;
        if (isClosed()) reject(ownError('CLOSED', 'the client was closed'));
        else if (table !== undefined) resolve(table);
        else if (signal?.aborted) {
          const details = { cause: signal.reason };
          reject(ownError('ABORTED', 'aborted before the partitions were known', details));
        } else {
          const why = cause?.message ?? `no answer within ${timeoutMs} ms`;
          reject(ownError('UNAVAILABLE', `the partitions are not known: ${why}`, { cause }));
        }
      };
      const waiter: Waiter = {
        isExtra,
        settle,
        close: settle,
        onTime: (nowMs) => {
          if (nowMs >= dueMs) settle();
        },
      };
      this.#waiters.add(waiter);
      if (!isExtra) this.#waiting++;
      deadlines.add(waiter);
      if (signal?.aborted) settle();
      else if (signal !== undefined) unlisten = onAbort(signal, settle);
    });
  }

  /** The table is there. */
  letIn(): void {
    if (!this.#letsIn) this.#letSomeIn(this.#waiters.values());
  }

  #letSomeIn(left: Iterator<Waiter>): void {
    this.#letsIn = true;
    for (let ofTurn = 0; ofTurn < TURN_MAX; ofTurn++) {
      const { done, value } = left.next();
      if (done) {
        this.#letsIn = false;
        return;
      }
      value.settle();
    }
    this.#options.clock.endOfTurn(() => this.#letSomeIn(left));
  }

  #delete(waiter: Waiter): void {
    if (!this.#waiters.delete(waiter) || waiter.isExtra) return;
    this.#waiting--;
    if (this.isCrowded) return;
    for (const tell of this.#whenRoom.splice(0)) tell();
  }
}
