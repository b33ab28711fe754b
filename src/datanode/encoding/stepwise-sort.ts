/** A stable sort that gives way after every step: a million elements do not hold up the others. */

/** Items sorted at once, and items merged before the next pause. */
const STEP_ITEMS = 512;

type Compare<T> = (a: T, b: T) => number;

/** Sorted copy of `items`; `pause` is run between steps. */
export function* sortStepwise<T, Yielded, Sent>(
  items: readonly T[],
  compare: Compare<T>,
  pause: () => Generator<Yielded, void, Sent>,
): Generator<Yielded, T[], Sent> {
  let sorted: T[] = [];
  for (let at = 0; at < items.length; at += STEP_ITEMS) {
    if (at > 0) yield* pause();
    for (const item of items.slice(at, at + STEP_ITEMS).sort(compare)) sorted.push(item);
  }
  for (let width = STEP_ITEMS; width < items.length; width *= 2) {
    const merged: T[] = [];
    for (let at = 0; at < items.length; at += 2 * width) {
      yield* mergeRuns(sorted, [at, at + width, at + 2 * width], merged, compare, pause);
    }
    sorted = merged;
  }
  return sorted;
}

/** Appends the runs from `start` to `middle` and from there to `end` to `merged`, as one. */
function* mergeRuns<T, Yielded, Sent>(
  items: readonly T[],
  [start, middle, end]: readonly [number, number, number],
  merged: T[],
  compare: Compare<T>,
  pause: () => Generator<Yielded, void, Sent>,
): Generator<Yielded, void, Sent> {
  const [leftEnd, rightEnd] = [Math.min(middle, items.length), Math.min(end, items.length)];
  let left = start;
  let right = leftEnd;
  while (left < leftEnd || right < rightEnd) {
    if (merged.length % STEP_ITEMS === 0) yield* pause();
    const fromLeft =
      right >= rightEnd || (left < leftEnd && compare(items[left]!, items[right]!) <= 0);
    merged.push(items[fromLeft ? left++ : right++]!);
  }
}
