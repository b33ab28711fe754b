/** Runs that may read ranges and mostly do not: their reply is there without waiting. */
import type { Slices } from '../../encoding/steps/slices.ts';
import type { KeyRange } from '../../engine/engine.ts';
import type { Reply } from '../../resp/reply.ts';
import type { RunResult } from './command.ts';

type Run = Slices<Reply>;

/** The reply itself when `run` ends without asking for a range; else what is left of the run. */
export function atOnce(run: Run): RunResult {
  const step = run.next();
  return step.done ? step.value : resume(run, step.value);
}

function* resume(run: Run, first: KeyRange): Run {
  let range = first;
  for (;;) {
    const step = run.next(yield range);
    if (step.done) return step.value;
    range = step.value;
  }
}
