/** Work that needs ranges of the engine: it yields each and is continued with its next slice. */
import type { KeyRange, KeyValue } from '../../engine/engine.ts';

/** An empty slice is the end of its range (decision 7a). */
export type Slices<Result> = Generator<KeyRange, Result, readonly KeyValue[]>;

/**
 * Where ranges are read: at once where they have been read ahead. Others may be handed the same
 * Buffers: nobody writes into them.
 */
export interface RangeSource {
  range(range: KeyRange): readonly KeyValue[] | Promise<readonly KeyValue[]>;
}

/** Says when others are to have their turn. What a run comes to does not depend on it. */
export interface Pacing {
  /** Asked after each small step; with `isGlance` in the midst of one, which counts as none. */
  isDue(isGlance?: boolean): boolean;
  /** Resolves in a later turn of the event loop. */
  pause(): Promise<void>;
}

/** Items that are worked on before others may have their turn. */
export const STEP_ITEMS = 64;

const EDGE = Buffer.from([0xff]);
/** A range that is empty: who asks for it does not want to read but to give way. */
export const NOTHING: KeyRange = { gte: EDGE, lt: EDGE, limit: 1 };

/** The same in the midst of a step: only the clock is asked. */
export const GLANCE: KeyRange = { gte: EDGE, lt: EDGE, limit: 1 };

/**
 * Items that are looked up or changed between two glances: each takes some 10 µs on a busy machine,
 * a look at the clock 30 ns.
 */
const GLANCE_ITEMS = 8;

/** Whether a walk that has worked on `done` items, one by one, is to `yield GLANCE`. */
export function isGlanceDue(done: number): boolean {
  return done % GLANCE_ITEMS === 0;
}

/** Others get their turn here if it is due. */
export function* giveWay(): Slices<void> {
  yield NOTHING;
}

/** `each` for all items, giving way once in a while; true ends the walk. */
export function* eachItem<T>(items: Iterable<T>, each: (item: T) => unknown): Slices<void> {
  let done = 0;
  for (const item of items) {
    if (++done % STEP_ITEMS === 0) yield* giveWay();
    else if (isGlanceDue(done)) yield GLANCE;
    if (each(item) === true) return;
  }
}

/** As `items.some(test)` where each test is a lookup: others get their turn between them. */
export function* someItem<T>(items: readonly T[], test: (item: T) => boolean): Slices<boolean> {
  for (let at = 0; at < items.length; at++) {
    if (at > 0 && isGlanceDue(at)) yield GLANCE;
    if (test(items[at]!)) return true;
  }
  return false;
}

/**
 * A walk whose items need work that gives way itself: what the walk has met is worked on each time
 * before it goes on, a few items at most. True ends it.
 */
export function* workOnEach<T>(
  walk: (take: (item: T) => undefined) => Slices<void>,
  work: (item: T) => Slices<unknown>,
): Slices<void> {
  const met: T[] = [];
  const steps = walk((item) => {
    met.push(item);
    return undefined;
  });
  for (let step = steps.next(); ; step = steps.next(yield step.value)) {
    for (const item of met) if ((yield* work(item)) === true) return;
    met.length = 0;
    if (step.done) return;
  }
}
