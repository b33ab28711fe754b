/**
 * First in, first out; an array's `shift` moves all that is behind, once there are many. What was taken is
 * let go at once: a few items may be of megabytes each.
 */

const TAKEN_MAX = 1_024;

export class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** The one that has waited longest. */
  get first(): T | undefined {
    return this.#items[this.#head];
  }

  /** The one that came last. */
  get last(): T | undefined {
    return this.length === 0 ? undefined : this.#items.at(-1);
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes the first. */
  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.length === 0) this.clear();
    else if (this.#head >= TAKEN_MAX && this.#head >= this.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** From the first on; nothing may be taken meanwhile. */
  *items(): Generator<T, void> {
    yield* this.#from(this.#head);
  }

  /** From the first on that `isBehind` is true of, as of all after it; few are looked at before it. */
  *itemsBehind(isBehind: (item: T) => boolean): Generator<T, void> {
    let from = this.#head;
    for (let end = this.#items.length; from < end; ) {
      const middle = (from + end) >>> 1;
      if (isBehind(this.#items[middle]!)) end = middle;
      else from = middle + 1;
    }
    yield* this.#from(from);
  }

  *#from(first: number): Generator<T, void> {
    for (let at = first; at < this.#items.length; at++) yield this.#items[at]!;
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
