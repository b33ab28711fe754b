/** Work that needs ranges of the engine: it yields each and is continued with its next slice. */
import type { KeyRange, KeyValue } from '../engine/engine.ts';

/** An empty slice is the end of its range (decision 7a). */
export type Slices<Result> = Generator<KeyRange, Result, readonly KeyValue[]>;

/** Items that are worked on between two pauses where each costs a microsecond or so. */
export const STEP_ITEMS = 1_024;

const EDGE = Buffer.from([0xff]);
/** A range that is empty: reading it takes a turn of the event loop and nothing else. */
export const NOTHING: KeyRange = { gte: EDGE, lt: EDGE, limit: 1 };

/** Others get their turn while the engine looks at a range that is empty. */
export function* giveWay(): Slices<void> {
  yield NOTHING;
}

/** `each` for all items, giving way once in a while; true ends the walk. */
export function* eachItem<T>(items: Iterable<T>, each: (item: T) => unknown): Slices<void> {
  let done = 0;
  for (const item of items) {
    if (++done % STEP_ITEMS === 0) yield* giveWay();
    if (each(item) === true) return;
  }
}
