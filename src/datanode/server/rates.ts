/**
 * What INFO tells of the last moments, sampled four times a second: how much passes the doors per
 * second and the largest buffers of any client, over the last two seconds, and the most memory that
 * was used. Without a client once a second is enough: of all this only the memory may change.
 */
import type { Clock, Timer } from '../../common/clock.ts';
import type { ClientBuffers, Rates } from '../commands/rows/node-context.ts';
import type { ServerStats } from './stats.ts';

const SAMPLE_MS = 250;
const WINDOW_MS = 2_000;
const ALONE_MS = 1_000;
/** Of what the samples tell of together, what each is to look at. */
export const SAMPLES_SHARE = SAMPLE_MS / WINDOW_MS;

/** What is looked at with each sample. */
export interface Sampled {
  heapBytes(): number;
  clients(): number;
  clientBuffers(): ClientBuffers;
}

interface Sample {
  readonly atMs: number;
  readonly buffers: ClientBuffers;
  readonly commands: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

export class RateMeter {
  readonly #clock: Clock;
  readonly #stats: ServerStats;
  #samples: Sample[] = [];
  readonly #sampled: Sampled;
  #peakHeapBytes = 0;
  #timer: Timer | undefined;
  #periodMs = SAMPLE_MS;

  constructor(clock: Clock, stats: ServerStats, sampled: Sampled) {
    this.#clock = clock;
    this.#stats = stats;
    this.#sampled = sampled;
  }

  /** The most that any sample met. */
  get peakHeapBytes(): number {
    return this.#peakHeapBytes;
  }

  /** The largest that the samples of the last two seconds met. */
  clientBuffers(): ClientBuffers {
    const largest = (of: keyof ClientBuffers) =>
      this.#samples.reduce((most, { buffers }) => Math.max(most, buffers[of]), 0);
    return { inputBytes: largest('inputBytes'), outputBytes: largest('outputBytes') };
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

  /** A client came. */
  noticeClient(): void {
    if (this.#timer === undefined || this.#periodMs === SAMPLE_MS) return;
    this.#timer.cancel();
    this.#take();
    this.#arm();
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
    this.#periodMs = this.#isAlone() ? ALONE_MS : SAMPLE_MS;
    this.#timer = this.#clock.setTimer(this.#periodMs, () => {
      this.#take();
      this.#arm();
    });
  }

  /** Nobody is here, and what the last two seconds saw is told. */
  #isAlone(): boolean {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || this.#sampled.clients() > 0) return false;
    if (last.atMs - first.atMs < WINDOW_MS) return false;
    return first.commands === last.commands && first.inputBytes === last.inputBytes;
  }

  #take(): void {
    const { commands, inputBytes, outputBytes } = this.#stats;
    this.#peakHeapBytes = Math.max(this.#peakHeapBytes, this.#sampled.heapBytes());
    const buffers = this.#sampled.clientBuffers();
    const atMs = this.#clock.monotonicMs();
    this.#samples.push({ atMs, buffers, commands, inputBytes, outputBytes });
    // one that is older stays, so that all of the window lies between samples
    while (atMs - (this.#samples[1]?.atMs ?? atMs) >= WINDOW_MS) this.#samples.shift();
  }
}
