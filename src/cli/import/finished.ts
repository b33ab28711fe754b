import type { Slices } from '../../datanode/encoding/steps/slices.ts';

/** What a walk comes to that reads no engine: its pauses are passed over. */
export function finished<Result>(run: Slices<Result>): Result {
  let step = run.next();
  while (!step.done) step = run.next([]);
  return step.value;
}
