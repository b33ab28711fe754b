/**
 * Virtual time: a queue of events ordered by time, ties broken by a draw from the seed. One event
 * runs, then every promise reaction it caused, then the next; so a run follows from its seed alone.
 */
import type { Random } from '../../src/common/random.ts';
import { TraceHash } from './trace-hash.ts';

export interface SimEvent {
  cancel(): void;
}

class Queued implements SimEvent {
  readonly timeMs: number;
  readonly draw: number;
  readonly order: number;
  run: (() => void) | undefined;
  readonly #queue: Queue;

  constructor(queue: Queue, timeMs: number, draw: number, order: number, run: () => void) {
    this.#queue = queue;
    this.timeMs = timeMs;
    this.draw = draw;
    this.order = order;
    this.run = run;
  }

  cancel(): void {
    if (this.run === undefined) return;
    this.run = undefined;
    this.#queue.cancelled++;
  }
}

interface Queue {
  /** Events that are in the heap and will not run: most timers are for what hardly ever happens. */
  cancelled: number;
}

/** A smaller heap is not worth the sweep. */
const SWEPT_FROM = 256;

export class Scheduler {
  readonly #random: Random;
  #heap: Queued[] = [];
  readonly #queue: Queue = { cancelled: 0 };
  #nowMs = 0;
  #order = 0;
  #executed = 0;
  readonly #trace = new TraceHash();

  constructor(random: Random) {
    this.#random = random.fork('scheduler');
  }

  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events run so far. */
  get executed(): number {
    return this.#executed;
  }

  /** Of times of events and of what was noted: equal runs have equal hashes. */
  get traceHash(): string {
    return this.#trace.value;
  }

  /** Adds to the trace what a harness holds to be part of the run's history. */
  note(text: string): void {
    this.#trace.number(this.#nowMs);
    this.#trace.text(text);
  }

  /** As `note`, for what happens tens of thousands of times a run: no text is made. */
  noteNumbers(one: number, other: number): void {
    this.#trace.number(this.#nowMs);
    this.#trace.number(one);
    this.#trace.number(other);
  }

  /** Runs `run` after `delayMs` of virtual time (at once: still as an event of its own). */
  after(delayMs: number, run: () => void): SimEvent {
    const timeMs = this.#nowMs + Math.max(0, delayMs);
    const event = new Queued(this.#queue, timeMs, this.#random.u32(), this.#order++, run);
    this.#push(event);
    if (this.#heap.length > SWEPT_FROM && this.#queue.cancelled > this.#heap.length / 2)
      this.#sweep();
    return event;
  }

  /**
   * Runs events until `isOver` says so or there are none up to `untilMs`, which is the time then.
   * Asked at first and when all that an event set off has run. Resolves with its last answer.
   */
  runUntil(isOver: () => boolean, withinMs: number): Promise<boolean> {
    return this.#advance(isOver, this.#nowMs + withinMs);
  }

  /** Runs all events up to `untilMs`, which is the time afterwards. */
  async run(untilMs: number): Promise<void> {
    await this.#advance(() => false, untilMs);
  }

  /** Each turn is a macrotask of its own: all reactions to the one before have run by then. */
  #advance(isOver: () => boolean, untilMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const turn = () => {
        try {
          if (isOver()) return resolve(true);
          if (this.#runNext(untilMs)) return inNextTurn(turn);
          this.#nowMs = Math.max(this.#nowMs, untilMs);
          resolve(isOver());
        } catch (failure) {
          reject(failure);
        }
      };
      inNextTurn(turn);
    });
  }

  /** False: there is none up to `untilMs`. */
  #runNext(untilMs: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.timeMs > untilMs) return false;
      this.#pop();
      const { run } = next;
      if (run === undefined) {
        this.#queue.cancelled--;
        continue;
      }
      next.run = undefined;
      this.#nowMs = next.timeMs;
      this.#executed++;
      this.#trace.number(next.timeMs);
      this.#trace.number(next.order);
      run();
      return true;
    }
  }

  /** The order of what is left is the same: no two events are equal. */
  #sweep(): void {
    this.#heap = this.#heap.filter(({ run }) => run !== undefined);
    this.#heap.sort((a, b) => (before(a, b) ? -1 : 1));
    this.#queue.cancelled = 0;
  }

  #push(event: Queued): void {
    const heap = this.#heap;
    let at = heap.push(event) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++;
      if (!before(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function before(a: Queued, b: Queued): boolean {
  if (a.timeMs !== b.timeMs) return a.timeMs < b.timeMs;
  return a.draw === b.draw ? a.order < b.order : a.draw < b.draw;
}

/** As it is outside of a simulation, where it is trapped. */
const hostImmediate = setImmediate;

/** Immediates that are queued at once: a turn of the host's event loop costs as much as an event. */
const AT_ONCE = 64;
let queued = 0;
let onTurn: (() => void) | undefined;

/** All promise reactions have run: the host's next macrotask begins only then. One waits at a time. */
function inNextTurn(run: () => void): void {
  onTurn = run;
  if (queued > 0) return;
  for (; queued < AT_ONCE; queued++) hostImmediate(macrotask);
}

function macrotask(): void {
  queued--;
  const run = onTurn;
  onTurn = undefined;
  run?.();
}
