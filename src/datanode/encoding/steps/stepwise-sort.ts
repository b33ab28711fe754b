/** A stable sort that gives way after every step: a million elements do not hold up the others. */
import { SteadyList } from '../../../common/steady-list.ts';

/** Items sorted at once, and items merged before the next pause. */
const STEP_ITEMS = 512;

type Compare<T> = (a: T, b: T) => number;

/** Sorted copy of `items`; `pause` is run between steps. */
export function* sortStepwise<T, Yielded, Sent>(
  items: SteadyList<T>,
  compare: Compare<T>,
  pause: () => Generator<Yielded, void, Sent>,
): Generator<Yielded, SteadyList<T>, Sent> {
  let runs: SteadyList<T>[] = [];
  for (let at = 0; at < items.length; at += STEP_ITEMS) {
    if (at > 0) yield* pause();
    const run = new SteadyList<T>();
    for (const item of [...items.items(at, at + STEP_ITEMS)].sort(compare)) run.push(item);
    runs.push(run);
  }
  while (runs.length > 1) {
    const merged: SteadyList<T>[] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at]!, runs[at + 1]];
      merged.push(right === undefined ? left : yield* mergeRuns(left, right, compare, pause));
    }
    runs = merged;
  }
  return runs[0] ?? new SteadyList<T>();
}

/** Both as one; of equal items those of `left` come first. */
function* mergeRuns<T, Yielded, Sent>(
  left: SteadyList<T>,
  right: SteadyList<T>,
  compare: Compare<T>,
  pause: () => Generator<Yielded, void, Sent>,
): Generator<Yielded, SteadyList<T>, Sent> {
  const merged = new SteadyList<T>();
  const [leftEnd, rightEnd] = [left.length, right.length];
  let [fromLeft, fromRight] = [0, 0];
  while (fromLeft < leftEnd || fromRight < rightEnd) {
    if (merged.length % STEP_ITEMS === 0) yield* pause();
    const isLeft =
      fromRight >= rightEnd ||
      (fromLeft < leftEnd && compare(left.at(fromLeft)!, right.at(fromRight)!) <= 0);
    merged.push(isLeft ? left.at(fromLeft++)! : right.at(fromRight++)!);
  }
  return merged;
}
