/**
 * The changes of a Txn by key, with undo of one command and ordered access for range reads. Keys
 * are held as latin1 strings: those compare as their bytes do.
 */
import type { KeyRange, KeyValue } from '../engine/engine.ts';
import type { Change } from './txn.ts';

interface Undo {
  readonly name: string;
  /** What the overlay held; undefined: nothing. */
  readonly held: Change | undefined;
}

export class Overlay {
  readonly #changes = new Map<string, Change>();
  #undo: Undo[] = [];
  /** Keys in order, and those that came since they were last ordered. */
  #sorted: string[] = [];
  #unsorted: string[] = [];

  get(key: Buffer): Change | undefined {
    return this.#changes.size === 0 ? undefined : this.#changes.get(key.toString('latin1'));
  }

  set(change: Change): void {
    const name = change.key.toString('latin1');
    const held = this.#changes.get(name);
    if (held === undefined) this.#unsorted.push(name);
    this.#undo.push({ name, held });
    this.#changes.set(name, change);
  }

  /** Keys that are changed. */
  get size(): number {
    return this.#changes.size;
  }

  changes(): Iterable<Change> {
    return this.#changes.values();
  }

  checkpoint(): void {
    this.#undo = [];
  }

  rollback(): void {
    if (this.#undo.length === 0) return;
    for (let at = this.#undo.length - 1; at >= 0; at--) {
      const { name, held } = this.#undo[at]!;
      if (held === undefined) this.#changes.delete(name);
      else this.#changes.set(name, held);
    }
    this.#undo = [];
    this.#sorted = [];
    this.#unsorted = [...this.#changes.keys()];
  }

  /**
   * `pairs` (all the engine has in `covered`, in its direction) with the changes laid over them: the
   * first `limit` of both together.
   */
  merge(pairs: readonly KeyValue[], covered: KeyRange, limit: number): KeyValue[] {
    this.#sort();
    const names = this.#sorted;
    const from = lowerBound(names, covered.gte.toString('latin1'));
    const to = lowerBound(names, covered.lt.toString('latin1'));
    if (from >= to) return pairs.slice(0, limit);
    const step = covered.reverse ? -1 : 1;
    const end = covered.reverse ? from - 1 : to;
    let at = covered.reverse ? to - 1 : from;
    const merged: KeyValue[] = [];
    const takeChange = () => {
      const { key, after } = this.#changes.get(names[at]!)!;
      at += step;
      if (after !== undefined) merged.push([key, after]);
    };
    for (const pair of pairs) {
      const name = pair[0].toString('latin1');
      while (merged.length < limit && at !== end && compare(names[at]!, name) * step < 0) {
        takeChange();
      }
      if (merged.length >= limit) return merged;
      if (at !== end && names[at] === name) takeChange();
      else merged.push(pair);
    }
    while (merged.length < limit && at !== end) takeChange();
    return merged;
  }

  /** A walk that changes what it has read only appends: then ordering stays linear. */
  #sort(): void {
    const added = this.#unsorted;
    if (added.length === 0) return;
    this.#unsorted = [];
    added.sort(compare);
    const last = this.#sorted.at(-1);
    if (last !== undefined && compare(last, added[0]!) > 0) {
      this.#sorted = mergeSorted(this.#sorted, added);
      return;
    }
    for (const name of added) this.#sorted.push(name);
  }
}

function mergeSorted(left: readonly string[], right: readonly string[]): string[] {
  const merged: string[] = [];
  let at = 0;
  for (const name of left) {
    while (at < right.length && right[at]! < name) merged.push(right[at++]!);
    merged.push(name);
  }
  while (at < right.length) merged.push(right[at++]!);
  return merged;
}

/** Index of the first name >= `bound`. */
function lowerBound(names: readonly string[], bound: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names[middle]! < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
