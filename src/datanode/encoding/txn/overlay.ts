/**
 * The changes of a Txn by key, with ordered access for range reads. Keys are held as latin1 strings:
 * those compare as their bytes do.
 *
 * Only what a range needs is ordered: changes are kept apart by collection, so a walk of one that
 * fills another never orders what it fills.
 */
import { SteadyList } from '../../../common/steady-list.ts';
import { SteadyMap } from '../../../common/steady-map.ts';
import type { KeyRange, KeyValue } from '../../engine/engine.ts';
import { ELEMENT_PREFIX_BYTES, elementTagSet } from '../records/element-key.ts';
import { sortStepwise } from '../steps/stepwise-sort.ts';

/** One change of a Txn as observers see it; `after` is undefined for a deletion. */
export interface Change {
  readonly key: Buffer;
  readonly after: Buffer | undefined;
}

/** A change, and its key as a string; undefined: the string is all there is. */
export interface Named {
  readonly name: string;
  readonly key: Buffer | undefined;
  after: Buffer | undefined;
}

/**
 * Of so many changes the keys are kept as they came. Of a million, each a Buffer beside its string
 * would be half of all that the garbage collector has to carry along; they are made when asked for.
 */
const KEYS_KEPT_MAX = 1_024;

/** What a change takes in memory beside its name and its value, near enough. */
const CHANGE_BYTES = 200;

/** Names that are looked at between two pauses. */
const STEP_ITEMS = 1_024;

/** Changed keys of one collection and kind, or of one tag. */
interface Run {
  sorted: SteadyList<Named>;
  /** Those that came since. */
  added: SteadyList<Named>;
  /** They came in order, as those of a walk that fills another collection do. */
  inOrder: boolean;
}

/** Yields where others may have their turn. */
type Steps<Result> = Generator<undefined, Result, unknown>;

export class Overlay {
  #changes = new SteadyMap<Named>();
  /** In the order of their first change. */
  #inOrder = new SteadyList<Named>();
  #bytes = 0;
  /** By the beginning of their names; whole keys before another come in an earlier run. */
  readonly #runs = new Map<string, Run>();
  /** So many of them, from the first on, are in a run; no range has asked about the others yet. */
  #inRuns = 0;
  /** The key that was asked about last, which is often the next to be changed, and its name. */
  #lastKey: Buffer | undefined;
  #lastName = '';

  get(key: Buffer): { readonly after: Buffer | undefined } | undefined {
    return this.#changes.size === 0 ? undefined : this.#changes.get(this.#nameOf(key));
  }

  #nameOf(key: Buffer): string {
    if (key === this.#lastKey) return this.#lastName;
    this.#lastKey = key;
    this.#lastName = key.toString('latin1');
    return this.#lastName;
  }

  /** The change of the key that is `name` as a latin1 string. */
  changeOf(name: string): Change | undefined {
    const named = this.#changes.get(name);
    return named && changeOf(named);
  }

  /** `after` is undefined for a deletion. */
  set(key: Buffer, after: Buffer | undefined): void {
    const name = this.#nameOf(key);
    const kept = this.#changes.size < KEYS_KEPT_MAX ? key : undefined;
    const named = { name, key: kept, after };
    const known = this.#changes.getOrSet(name, named);
    if (known === named) {
      this.#inOrder.push(named);
      this.#bytes += bytesOf(named);
      return;
    }
    this.#bytes += lengthOf(after) - lengthOf(known.after);
    known.after = after;
  }

  /** What all of them take in memory, near enough. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The same of the elements of each collection and kind, by what their names begin with. */
  *bytesByPlace(): Steps<ReadonlyMap<string, number>> {
    const sums = new Map<string, number>();
    for (let at = 0; at < this.size; at++) {
      const named = this.namedAt(at);
      const place = placeOf(named.name);
      if (place !== undefined) sums.set(place, (sums.get(place) ?? 0) + bytesOf(named));
      if (at % STEP_ITEMS === STEP_ITEMS - 1) yield;
    }
    return sums;
  }

  /** Takes the changes of those elements out, in their order; nothing may be asked between its steps. */
  *takeOut(places: ReadonlySet<string>): Steps<SteadyList<Named>> {
    const out = new SteadyList<Named>();
    const kept = new SteadyList<Named>();
    const changes = new SteadyMap<Named>();
    let bytes = 0;
    for (let at = 0; at < this.size; at++) {
      if (at % STEP_ITEMS === STEP_ITEMS - 1) yield;
      const named = this.namedAt(at);
      if (places.has(placeOf(named.name) ?? '')) {
        out.push(named);
        continue;
      }
      kept.push(named);
      changes.set(named.name, named);
      bytes += bytesOf(named);
    }
    this.#changes = changes;
    this.#inOrder = kept;
    this.#bytes = bytes;
    this.#runs.clear();
    this.#inRuns = 0;
    return out;
  }

  /** Keys that are changed. */
  get size(): number {
    return this.#changes.size;
  }

  /** In the order of their first change. */
  *changes(): Generator<Change, void, unknown> {
    for (const named of this.#inOrder) yield changeOf(named);
  }

  /** What `of` makes of each, in the same order. */
  map<Result>(of: (named: Named) => Result): Result[] {
    const made = new Array<Result>(this.#inOrder.length);
    for (let at = 0; at < made.length; at++) made[at] = of(this.namedAt(at));
    return made;
  }

  /** The change that came as the one at `at`, as it is held; for `at` below `size`. */
  namedAt(at: number): Named {
    return this.#inOrder.at(at)!;
  }

  /** Orders what `merge` needs for `range`; nothing may be changed between its steps. */
  *order(range: KeyRange): Steps<void> {
    for (; this.#inRuns < this.#changes.size; this.#inRuns++) {
      const named = this.#inOrder.at(this.#inRuns)!;
      const run = this.#runOf(named.name);
      const { last } = run.added;
      run.inOrder &&= last === undefined || last.name < named.name;
      run.added.push(named);
      if (this.#inRuns % STEP_ITEMS === STEP_ITEMS - 1) yield;
    }
    for (const run of this.#runsIn(range)) {
      const { sorted, added } = run;
      if (added.length === 0) continue;
      const inOrder = run.inOrder ? added : yield* sortStepwise(added, compareNamed, pause);
      run.sorted = yield* joinSorted(sorted, inOrder);
      run.added = new SteadyList();
      run.inOrder = true;
    }
  }

  /**
   * `pairs` (all the engine has in `covered`, in its direction) with the changes laid over them: the
   * first `limit` of both together. `covered` lies within what was ordered last.
   */
  merge(pairs: readonly KeyValue[], covered: KeyRange, limit: number): KeyValue[] {
    const changed = this.#changedIn(covered);
    const step = covered.reverse ? -1 : 1;
    let next = changed.next().value;
    if (next === undefined) return pairs.slice(0, limit);
    const merged: KeyValue[] = [];
    const takeChange = (named: Named) => {
      next = changed.next().value;
      if (named.after !== undefined) merged.push([keyOf(named), named.after]);
    };
    for (const pair of pairs) {
      const name = pair[0].toString('latin1');
      while (merged.length < limit && next !== undefined && compare(next.name, name) * step < 0) {
        takeChange(next);
      }
      if (merged.length >= limit) return merged;
      if (next?.name === name) takeChange(next);
      else merged.push(pair);
    }
    while (merged.length < limit && next !== undefined) takeChange(next);
    return merged;
  }

  /** Changed keys of `range`, in its direction. */
  *#changedIn(range: KeyRange): Generator<Named, undefined, unknown> {
    const runs = this.#runsIn(range);
    if (range.reverse) runs.reverse();
    for (const { sorted } of runs) {
      const from = lowerBound(sorted, range.gte.toString('latin1'));
      const to = lowerBound(sorted, range.lt.toString('latin1'));
      if (range.reverse) for (let at = to - 1; at >= from; at--) yield sorted.at(at)!;
      else for (let at = from; at < to; at++) yield sorted.at(at)!;
    }
  }

  #runOf(name: string): Run {
    const prefix = prefixOf(name);
    let run = this.#runs.get(prefix);
    if (run === undefined) {
      run = { sorted: new SteadyList(), added: new SteadyList(), inOrder: true };
      this.#runs.set(prefix, run);
    }
    return run;
  }

  /** The runs that may have keys of `range`, in order. */
  #runsIn({ gte, lt }: KeyRange): Run[] {
    const first = prefixOf(gte.toString('latin1'));
    const end = lt.toString('latin1');
    if (isWhole(first) && end <= afterAll(first)) {
      const run = this.#runs.get(first);
      return run === undefined ? [] : [run];
    }
    const prefixes = [...this.#runs.keys()].filter((prefix) => prefix >= first && prefix < end);
    return prefixes.sort(compare).map((prefix) => this.#runs.get(prefix)!);
  }
}

function prefixOf(name: string): string {
  return placeOf(name) ?? name.slice(0, 1);
}

/** Of an element: tag, slot and version of its collection. */
function placeOf(name: string): string | undefined {
  return elementTagSet.has(name.charCodeAt(0)) ? name.slice(0, ELEMENT_PREFIX_BYTES) : undefined;
}

function bytesOf({ name, after }: Named): number {
  return CHANGE_BYTES + name.length + lengthOf(after);
}

function lengthOf(value: Buffer | undefined): number {
  return value === undefined ? 0 : value.length;
}

/** Not a bound that is shorter than the keys it lies between. */
function isWhole(prefix: string): boolean {
  return prefix.length === (elementTagSet.has(prefix.charCodeAt(0)) ? ELEMENT_PREFIX_BYTES : 1);
}

/** Behind every name with `prefix`, and not behind any other that comes later; or too early. */
function afterAll(prefix: string): string {
  const last = prefix.length - 1;
  return prefix.slice(0, last) + String.fromCharCode(Math.min(0xff, prefix.charCodeAt(last) + 1));
}

function* pause(): Steps<void> {
  yield;
}

/** Both as one; a walk that changes what it has read only appends: then that stays linear. */
function* joinSorted(left: SteadyList<Named>, right: SteadyList<Named>): Steps<SteadyList<Named>> {
  if (left.length === 0) return right;
  const appends = left.last!.name < right.at(0)!.name;
  const joined = appends ? left : new SteadyList<Named>();
  const add = (named: Named) => {
    joined.push(named);
    return joined.length % STEP_ITEMS === 0;
  };
  let at = 0;
  if (!appends) {
    for (const named of left) {
      while (at < right.length && right.at(at)!.name < named.name) if (add(right.at(at++)!)) yield;
      if (add(named)) yield;
    }
  }
  while (at < right.length) if (add(right.at(at++)!)) yield;
  return joined;
}

/** Index of the first name >= `bound`. */
function lowerBound(names: SteadyList<Named>, bound: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names.at(middle)!.name < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

function changeOf(named: Named): Change {
  // with its key it is a change
  return named.key === undefined ? { key: keyOf(named), after: named.after } : (named as Change);
}

export function keyOf({ key, name }: Named): Buffer {
  return key ?? Buffer.from(name, 'latin1');
}

function compareNamed(a: Named, b: Named): number {
  return compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
