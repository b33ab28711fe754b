/**
 * One command's run that asks for ranges (decision 7a): driven as far as it goes at once, or to its end,
 * giving way to others between two reads. A reply that grows too large becomes the error that says so.
 */
import { GLANCE, type Pacing, type RangeSource, type Slices } from '../../encoding/steps/slices.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import type { Reply } from '../../resp/reply.ts';
import { ReplyTooLargeError } from '../../resp/reply-pile.ts';

/** What `run` returns, or the error that its reply would be too large. */
export function orTooLarge<Result>(run: () => Result): Result | Reply {
  try {
    return run();
  } catch (failure) {
    return tooLarge(failure);
  }
}

/** The error that `failure` is about a reply too large; every other failure is thrown. */
export function tooLarge(failure: unknown): Reply {
  if (failure instanceof ReplyTooLargeError) return failure.reply;
  throw failure;
}

/** `runRanges` for a command: a reply that grows too large is an error. */
export async function runReply(
  run: Slices<Reply>,
  source: RangeSource,
  pace: Pacing,
  begun?: Begun<Reply>,
): Promise<Reply> {
  try {
    return await runRanges(run, source, pace, begun);
  } catch (failure) {
    return tooLarge(failure);
  }
}

/** Where a run stands that was begun. */
export type Begun<Result> = IteratorResult<KeyRange, Result>;

/** Drives a run as far as `known` goes and this turn has time: the clock is asked at each step. */
export function beginRanges<Result>(
  run: Slices<Result>,
  known: (range: KeyRange) => readonly KeyValue[] | undefined,
  pace: Pacing,
): Begun<Result> {
  let step = run.next();
  while (!step.done && !pace.isDue(true)) {
    const pairs = known(step.value);
    if (pairs === undefined) break;
    step = run.next(pairs);
  }
  return step;
}

/**
 * Drives a suspended run to its end, reading the ranges it asks for. To take over what was read is
 * work that nobody measures: a walk that goes on begins a turn behind it.
 */
export async function runRanges<Result>(
  run: Slices<Result>,
  source: RangeSource,
  pace: Pacing,
  begun: Begun<Result> = run.next(),
): Promise<Result> {
  let step = begun;
  for (let reads = 0; !step.done; ) {
    if (pace.isDue(step.value === GLANCE)) await pace.pause();
    let pairs = source.range(step.value);
    if (pairs instanceof Promise) {
      pairs = await pairs;
      if (reads++ > 0 && pairs.length > 0) await pace.pause();
    }
    step = run.next(pairs);
  }
  return step.value;
}
