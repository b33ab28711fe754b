/** Turns of this thread's event loop, and the CPU time they take. */
import { openSync, readSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';
import { promisify } from 'node:util';

const nextTurn = promisify(setImmediate);
const TOLD_TURNS = 3;
/** Turns shorter than this are not looked at one by one. */
const NOTABLE_MS = 1;

/** By `performance.now()`. */
export interface Turn {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cpuMs: number;
}

/**
 * The longest turn of the event loop: the CPU time of this thread, whatever else the machine does.
 * What of a turn is the garbage collector's is told by V8 in time of the clock; how much of that the
 * thread had a core, and how much it waited for the collector's other threads, nobody tells. (Taking
 * the share it had of the whole turn, a turn of 130 ms with a collection in it, or one that slept on a
 * lock of LevelDB's, passed for 10 ms of a command's own.)
 */
export class Turns {
  longestMs = 0;
  /** By the clock, with all that others took from this thread. */
  longestWallMs = 0;
  /** The same as `longestMs` without the collector. */
  longestOwnMs = 0;
  /**
   * CPU time of all turns that are looked at, which is nearly all that a command takes: the others
   * are the watching itself, which never lets the thread sleep.
   */
  workedMs = 0;
  /** That one. */
  longest: Turn | undefined;
  #fromMs = 0;
  #cpuMs = 0;
  #on = true;
  readonly #turns: Turn[] = [];
  readonly #collections: { readonly startTime: number; readonly duration: number }[] = [];
  readonly #observer = new PerformanceObserver((list) => {
    this.#collections.push(...list.getEntries());
  });

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] });
    this.#cpuMs = threadCpuMs();
    this.#fromMs = performance.now();
    setImmediate(() => this.#turn());
  }

  /** V8 tells of a collection two turns later at most: what the last one did is waited for. */
  async stop(): Promise<void> {
    this.#on = false;
    for (let turn = 0; turn < TOLD_TURNS; turn++) await nextTurn();
    this.#collections.push(...this.#observer.takeRecords());
    this.#observer.disconnect();
    for (const turn of this.#turns) {
      this.longestWallMs = Math.max(this.longestWallMs, turn.toMs - turn.fromMs);
      this.longestMs = Math.max(this.longestMs, turn.cpuMs);
      this.workedMs += turn.cpuMs;
      const own = ownMs(turn.cpuMs, this.#collectedMs(turn));
      if (own <= this.longestOwnMs) continue;
      this.longestOwnMs = own;
      this.longest = turn;
    }
  }

  #collectedMs({ fromMs, toMs }: Turn): number {
    let sum = 0;
    for (const { startTime, duration } of this.#collections) {
      if (startTime >= fromMs && startTime < toMs) sum += duration;
    }
    return Math.min(sum, toMs - fromMs);
  }

  #turn(): void {
    if (!this.#on) return;
    const cpuMs = threadCpuMs();
    const toMs = performance.now();
    const turn = { fromMs: this.#fromMs, toMs, cpuMs: cpuMs - this.#cpuMs };
    if (turn.toMs - turn.fromMs >= NOTABLE_MS) this.#turns.push(turn);
    this.#cpuMs = cpuMs;
    this.#fromMs = toMs;
    setImmediate(() => this.#turn());
  }
}

/**
 * CPU time of a turn without the collector, which had `collectedMs` of it by the clock: exact where
 * nothing was collected, else the least it can have been.
 */
export function ownMs(cpuMs: number, collectedMs: number): number {
  return Math.max(0, cpuMs - collectedMs);
}

const stat = openSync('/proc/thread-self/schedstat', 'r');
const statText = Buffer.alloc(64);

/** CPU time of this thread. */
export function threadCpuMs(): number {
  // makes the kernel bring this thread's time up to date
  process.cpuUsage();
  const length = readSync(stat, statText, 0, statText.length, 0);
  return Number(statText.toString('latin1', 0, length).split(' ')[0]) / 1e6;
}
