/** How long parts of the cluster did not answer; pure, from what clients were told. */
import type { DoorKind } from './doors.ts';
import type { Answered } from './recorder.ts';

export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Notes when this process, and so most likely the whole machine, stood still: nothing that happened
 * then is the cluster's doing.
 */
export class StallWatch {
  readonly stalls: Window[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();

  constructor() {
    this.#timer = setInterval(() => {
      const now = performance.now();
      if (now - this.#lastMs > STALL_MS) this.stalls.push({ fromMs: this.#lastMs, toMs: now });
      this.#lastMs = now;
    }, LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** From one moment to another, without the times at which everything stood still. */
  lastedMs(fromMs: number, toMs: number): number {
    const stood = this.stalls.reduce(
      (sum, stall) =>
        sum + Math.max(0, Math.min(toMs, stall.toMs) - Math.max(fromMs, stall.fromMs)),
      0,
    );
    return toMs - fromMs - stood;
  }
}

const LOOK_MS = 50;
const STALL_MS = 1_000;

/**
 * The longest time within the window in which no call to some partition succeeded, in milliseconds,
 * at most the window's length.
 */
export function longestGap(
  answers: readonly Answered[],
  window: Window,
  partitions: number,
  lasted: (fromMs: number, toMs: number) => number = (fromMs, toMs) => toMs - fromMs,
): number {
  let longest = 0;
  const last = new Array<number>(partitions).fill(window.fromMs);
  const within = answers
    .filter(({ outcome, endedMs }) => {
      return outcome === 'ok' && endedMs >= window.fromMs && endedMs <= window.toMs;
    })
    .sort((a, b) => a.endedMs - b.endedMs);
  for (const { partition, endedMs } of within) {
    longest = Math.max(longest, lasted(last[partition]!, endedMs));
    last[partition] = endedMs;
  }
  return Math.max(longest, ...last.map((ms) => lasted(ms, window.toMs)));
}

/** The longest that a client of the door waited for one answer of a call that began in the window. */
export function slowest(
  answers: readonly Answered[],
  window: Window,
  door: DoorKind,
  lasted: (fromMs: number, toMs: number) => number = (fromMs, toMs) => toMs - fromMs,
): number {
  let longest = 0;
  for (const answer of answers) {
    if (answer.door !== door || answer.outcome !== 'ok') continue;
    if (answer.endedMs < window.fromMs || answer.invokedMs > window.toMs) continue;
    longest = Math.max(longest, lasted(answer.invokedMs, answer.endedMs));
  }
  return longest;
}

export function countIn(
  answers: readonly Answered[],
  window: Window,
  outcome: Answered['outcome'],
): number {
  return answers.filter((answer) => {
    return (
      answer.outcome === outcome && answer.endedMs >= window.fromMs && answer.endedMs <= window.toMs
    );
  }).length;
}

/** Successful calls per second, in buckets of `bucketMs` from `fromMs` on. */
export function throughput(
  answers: readonly Answered[],
  { fromMs, toMs }: Window,
  bucketMs: number,
): readonly number[] {
  const counts = new Array<number>(Math.max(1, Math.ceil((toMs - fromMs) / bucketMs))).fill(0);
  for (const { outcome, endedMs } of answers) {
    const at = Math.floor((endedMs - fromMs) / bucketMs);
    if (outcome === 'ok' && at >= 0 && at < counts.length) counts[at]!++;
  }
  return counts.map((count) => (count * 1_000) / bucketMs);
}
