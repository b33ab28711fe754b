/** How long parts of the cluster did not answer; pure, from what clients were told. */
import type { DoorKind } from './doors.ts';
import type { Answered } from './recorder.ts';

export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * The longest time within the window in which no call to some partition succeeded, in milliseconds,
 * at most the window's length.
 */
export function longestGap(
  answers: readonly Answered[],
  window: Window,
  partitions: number,
): number {
  let longest = 0;
  const last = new Array<number>(partitions).fill(window.fromMs);
  const within = answers
    .filter(({ outcome, endedMs }) => {
      return outcome === 'ok' && endedMs >= window.fromMs && endedMs <= window.toMs;
    })
    .sort((a, b) => a.endedMs - b.endedMs);
  for (const { partition, endedMs } of within) {
    longest = Math.max(longest, endedMs - last[partition]!);
    last[partition] = endedMs;
  }
  return Math.max(longest, ...last.map((ms) => window.toMs - ms));
}

/** The longest that a client of the door waited for one answer of a call that began in the window. */
export function slowest(answers: readonly Answered[], window: Window, door: DoorKind): number {
  let longest = 0;
  for (const answer of answers) {
    if (answer.door !== door || answer.outcome !== 'ok') continue;
    if (answer.endedMs < window.fromMs || answer.invokedMs > window.toMs) continue;
    longest = Math.max(longest, answer.endedMs - answer.invokedMs);
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
