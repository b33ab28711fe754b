/**
 * First come, first served, and anybody may leave. Each step takes constant time on average; a Set
 * would not do: whoever asks one for its first again and again walks over all that were deleted.
 */
export class WaitingLine<T> {
  /** Undefined: has left. */
  #all: (T | undefined)[] = [];
  /** Index of the first that may be there. */
  #head = 0;
  /** How many have been cut off at the front: places count on. */
  #cut = 0;
  readonly #places = new Map<T, number>();

  get size(): number {
    return this.#places.size;
  }

  /** `one` is not in the line. */
  add(one: T): void {
    this.#places.set(one, this.#cut + this.#all.length);
    this.#all.push(one);
  }

  /** The first one, which leaves. */
  shift(): T | undefined {
    while (this.#head < this.#all.length) {
      const one = this.#all[this.#head++];
      if (one === undefined) continue;
      this.#places.delete(one);
      this.#trim();
      return one;
    }
    return undefined;
  }

  /** False: it was not in the line. */
  delete(one: T): boolean {
    const place = this.#places.get(one);
    if (place === undefined) return false;
    this.#places.delete(one);
    this.#all[place - this.#cut] = undefined;
    this.#trim();
    return true;
  }

  #trim(): void {
    if (this.#places.size === 0) this.#head = this.#all.length;
    if (this.#head < TRIMMED_LEAST || this.#head * 2 < this.#all.length) return;
    this.#all.splice(0, this.#head);
    this.#cut += this.#head;
    this.#head = 0;
  }
}

const TRIMMED_LEAST = 1_024;
