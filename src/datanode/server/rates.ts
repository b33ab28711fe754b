/**
 * What INFO tells of the last moments, sampled four times a second: how much passes the doors per
 * second, over the last two seconds, and the most memory that was used.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { Rates } from '../commands/node-context.ts';
import type { ServerStats } from './stats.ts';

const SAMPLE_MS = 250;
const SAMPLES = 9;

interface Sample {
  readonly atMs: number;
  readonly commands: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

export class RateMeter {
  readonly #clock: Clock;
  readonly #stats: ServerStats;
  #samples: Sample[] = [];
  readonly #heapBytes: () => number;
  #peakHeapBytes = 0;
  #timer: Timer | undefined;

  constructor(clock: Clock, stats: ServerStats, heapBytes: () => number) {
    this.#clock = clock;
    this.#stats = stats;
    this.#heapBytes = heapBytes;
  }

  /** The most that any sample met. */
  get peakHeapBytes(): number {
    return this.#peakHeapBytes;
  }

  start(): void {
    if (this.#timer !== undefined) return;
    this.#take();
    this.#arm();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** The counters begin at 0 again. */
  reset(): void {
    this.#samples = [];
    this.#take();
  }

  /** Zeros until two samples are there. */
  rates(): Rates {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) {
      return { commandsPerSecond: 0, inputBytesPerSecond: 0, outputBytesPerSecond: 0 };
    }
    const seconds = (last.atMs - first.atMs) / 1_000;
    return {
      commandsPerSecond: (last.commands - first.commands) / seconds,
      inputBytesPerSecond: (last.inputBytes - first.inputBytes) / seconds,
      outputBytesPerSecond: (last.outputBytes - first.outputBytes) / seconds,
    };
  }

  #arm(): void {
    this.#timer = this.#clock.setTimer(SAMPLE_MS, () => {
      this.#take();
      this.#arm();
    });
  }

  #take(): void {
    const { commands, inputBytes, outputBytes } = this.#stats;
    this.#peakHeapBytes = Math.max(this.#peakHeapBytes, this.#heapBytes());
    this.#samples.push({ atMs: this.#clock.monotonicMs(), commands, inputBytes, outputBytes });
    if (this.#samples.length > SAMPLES) this.#samples.shift();
  }
}
