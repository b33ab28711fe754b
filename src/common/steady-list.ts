/**
 * A list that grows a little at a time. An array of a million items is moved whenever it grows, and
 * a copy of it holds the event loop for milliseconds; this one is many small arrays.
 */

/** Items of one part: a power of two. */
const PART_BITS = 10;
const PART_ITEMS = 1 << PART_BITS;
const PLACE_MASK = PART_ITEMS - 1;

export class SteadyList<Item> implements Iterable<Item> {
  readonly #parts: Item[][] = [];
  /** The last part; undefined when it is full, or there is none. */
  #open: Item[] | undefined;

  get length(): number {
    const last = this.#parts.length - 1;
    return last < 0 ? 0 : last * PART_ITEMS + this.#parts[last]!.length;
  }

  push(item: Item): void {
    let part = this.#open;
    if (part === undefined) {
      part = [];
      this.#parts.push(part);
      this.#open = part;
    }
    if (part.push(item) === PART_ITEMS) this.#open = undefined;
  }

  /** Undefined beyond the end. */
  at(index: number): Item | undefined {
    return this.#parts[index >>> PART_BITS]?.[index & PLACE_MASK];
  }

  /** The last item; undefined when there is none. */
  get last(): Item | undefined {
    return this.#parts.at(-1)?.at(-1);
  }

  /**
   * Items from index `from` to before `to`, which may lie beyond the end. What is pushed meanwhile
   * comes too.
   */
  *items(from = 0, to: number = Number.POSITIVE_INFINITY): Generator<Item, void, unknown> {
    for (let at = from; at < to; at++) {
      const part = this.#parts[at >>> PART_BITS];
      if (part === undefined || (at & PLACE_MASK) >= part.length) return;
      yield part[at & PLACE_MASK]!;
    }
  }

  /** From the last item to the first. */
  *backwards(): Generator<Item, void, unknown> {
    for (let at = this.length - 1; at >= 0; at--) yield this.at(at)!;
  }

  [Symbol.iterator](): Generator<Item, void, unknown> {
    return this.items();
  }
}
