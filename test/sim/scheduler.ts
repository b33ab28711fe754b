/**
 * Virtual time: a queue of events ordered by time, ties broken by a draw from the seed. One event
 * runs, then every promise reaction it caused, then the next; so a run follows from its seed alone.
 */
import { crc32 } from 'node:zlib';
import type { Random } from '../../src/common/random.ts';

export interface SimEvent {
  cancel(): void;
}

interface Queued extends SimEvent {
  readonly timeMs: number;
  readonly draw: number;
  readonly order: number;
  run: (() => void) | undefined;
}

export class Scheduler {
  readonly #random: Random;
  readonly #heap: Queued[] = [];
  #nowMs = 0;
  #order = 0;
  #executed = 0;
  #trace = 0;
  readonly #mark = Buffer.alloc(16);

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

  /** Running checksum of times of events and of what was noted: equal runs have equal hashes. */
  get traceHash(): string {
    return this.#trace.toString(16).padStart(8, '0');
  }

  /** Adds to the trace what a harness holds to be part of the run's history. */
  note(text: string): void {
    this.#trace = crc32(`${this.#nowMs} ${text}\n`, this.#trace);
  }

  /** As `note`, for what happens tens of thousands of times a run: no text is made. */
  #noteEvent(order: number): void {
    this.#mark.writeDoubleLE(this.#nowMs, 0);
    this.#mark.writeDoubleLE(order, 8);
    this.#trace = crc32(this.#mark, this.#trace);
  }

  /** Runs `run` after `delayMs` of virtual time (at once: still as an event of its own). */
  after(delayMs: number, run: () => void): SimEvent {
    const event: Queued = {
      timeMs: this.#nowMs + Math.max(0, delayMs),
      draw: this.#random.u32(),
      order: this.#order++,
      run,
      cancel: () => {
        event.run = undefined;
      },
    };
    this.#push(event);
    return event;
  }

  /** Runs the next event and everything it set off; false when there is none. */
  async step(untilMs = Number.POSITIVE_INFINITY): Promise<boolean> {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.timeMs > untilMs) return false;
      this.#pop();
      const { run } = next;
      if (run === undefined) continue;
      this.#nowMs = next.timeMs;
      this.#executed++;
      this.#noteEvent(next.order);
      run();
      await settled();
      return true;
    }
  }

  /** Runs all events up to `untilMs`, which is the time afterwards. */
  async run(untilMs: number): Promise<void> {
    await settled();
    while (await this.step(untilMs));
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  /** Runs until `condition` holds; false when it did not within `withinMs`. */
  async runUntil(condition: () => boolean, withinMs: number): Promise<boolean> {
    const untilMs = this.#nowMs + withinMs;
    await settled();
    while (!condition()) {
      if (!(await this.step(untilMs))) {
        this.#nowMs = Math.max(this.#nowMs, untilMs);
        return condition();
      }
    }
    return true;
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
let onSettled: (() => void) | undefined;

/** All promise reactions have run: the host's next macrotask begins only then. One waits at a time. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    onSettled = resolve;
    if (queued > 0) return;
    for (; queued < AT_ONCE; queued++) hostImmediate(macrotask);
  });
}

function macrotask(): void {
  queued--;
  const resolve = onSettled;
  onSettled = undefined;
  resolve?.();
}
