/** One life of a node's view of virtual time: its own offset, drift and jumps; `kill` ends it. */
import type { Clock, Timer } from '../../src/common/clock.ts';
import type { Scheduler, SimEvent } from './scheduler.ts';

/** Virtual wall clocks begin here: 2026-01-01. */
const EPOCH_MS = Date.UTC(2026, 0, 1);

/** Between events that must keep their order. */
const APART_MS = 1e-6;

export interface SimClockOptions {
  /** Wall clock ahead of (or behind) virtual time. */
  readonly offsetMs?: number;
  /** Local milliseconds per virtual millisecond: 1.001 runs fast. */
  readonly rate?: number;
  /** So long a turn of its event loop takes what comes in: that of a busy process is long. */
  readonly turnMs?: number;
}

export class SimClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #bornMs: number;
  readonly #rate: number;
  readonly #turnMs: number;
  readonly #due = new Timers();
  #offsetMs: number;
  #killed = false;
  /** What came due while the process was stopped (SIGSTOP), in order. */
  #stopped: (() => void)[] | undefined;

  constructor(scheduler: Scheduler, options: SimClockOptions = {}) {
    this.#scheduler = scheduler;
    this.#bornMs = scheduler.nowMs;
    this.#rate = options.rate ?? 1;
    this.#turnMs = options.turnMs ?? 0;
    this.#offsetMs = options.offsetMs ?? 0;
  }

  get pending(): number {
    return this.#due.count;
  }

  /** From 1, as a process that has just started. */
  monotonicMs(): number {
    return 1 + (this.#scheduler.nowMs - this.#bornMs) * this.#rate;
  }

  wallMs(): number {
    const drift = (this.#scheduler.nowMs - this.#bornMs) * (this.#rate - 1);
    return Math.floor(EPOCH_MS + this.#scheduler.nowMs + drift + this.#offsetMs);
  }

  /** The wall clock is set forward (or back); the monotone clock is not. */
  jump(byMs: number): void {
    this.#offsetMs += byMs;
  }

  setTimer(delayMs: number, run: () => void): Timer {
    return this.#schedule(delayMs / this.#rate, run);
  }

  endOfTurn(run: () => void): void {
    this.#schedule(this.#turnMs, run);
  }

  /** SIGSTOP: time goes on, nothing runs. */
  pause(): void {
    this.#stopped ??= [];
  }

  /** SIGCONT: what came due runs at once, in its order. */
  resume(): void {
    const due = this.#stopped ?? [];
    this.#stopped = undefined;
    // events of one moment run in a drawn order: these have one
    for (const [at, run] of due.entries()) this.#schedule(at * APART_MS, run);
  }

  /** The process is gone: nothing it set runs, now or later. */
  kill(): void {
    this.#killed = true;
    this.#stopped = undefined;
    this.#due.cancelAll();
  }

  #schedule(delayMs: number, run: () => void): Timer {
    if (this.#killed) return ended;
    const due = this.#due.add(run);
    due.event = this.#scheduler.after(delayMs, () => {
      this.#due.remove(due);
      if (this.#stopped === undefined) due.run();
      else this.#stopped.push(() => due.run());
    });
    return due;
  }
}

const ended: Timer = { cancel() {} };

/** Those of a life that are set, each knowing its neighbours: a set would have to hash them. */
class Timers {
  count = 0;
  #last: Due | undefined;

  add(run: () => void): Due {
    const due = new Due(this, run, this.#last);
    if (this.#last !== undefined) this.#last.next = due;
    this.#last = due;
    this.count++;
    return due;
  }

  /** Once; later calls change nothing. */
  remove(due: Due): void {
    if (!due.isSet) return;
    due.isSet = false;
    this.count--;
    const { before, next } = due;
    if (before !== undefined) before.next = next;
    if (next !== undefined) next.before = before;
    else this.#last = before;
    due.before = undefined;
    due.next = undefined;
  }

  cancelAll(): void {
    while (this.#last !== undefined) {
      this.#last.event?.cancel();
      this.remove(this.#last);
    }
  }
}

/** A timer that is set, or was. */
class Due implements Timer {
  event: SimEvent | undefined;
  isSet = true;
  before: Due | undefined;
  next: Due | undefined;
  readonly #all: Timers;
  #run: (() => void) | undefined;

  constructor(all: Timers, run: () => void, before: Due | undefined) {
    this.#all = all;
    this.#run = run;
    this.before = before;
    this.next = undefined;
    this.event = undefined;
  }

  run(): void {
    this.#run?.();
  }

  cancel(): void {
    this.#run = undefined;
    this.#all.remove(this);
    this.event?.cancel();
  }
}
