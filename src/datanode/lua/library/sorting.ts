/**
 * `table.sort`: Lua's own quicksort, comparison by comparison, since a script may see which two are
 * compared, and in which order equal ones end up. Lists of strings, or of ordinary numbers, end up the same
 * by any sort.
 */
import { LuaError } from '../values/error.ts';
import type { LuaRequest, LuaRun, Meter } from '../values/function.ts';
import type { LuaTable } from '../values/table.ts';
import { isTruthy, type LuaValue } from '../values/value.ts';
import { type Args, checkFunction, checkTable } from './arguments.ts';
import { callFor, lessByMetatable, plainlyLess } from './indexing.ts';

export function sort(args: Args, meter: Meter): readonly LuaValue[] | LuaRun {
  const table = checkTable(args, 1, 'sort');
  const comparator = args[1] === undefined ? undefined : checkFunction(args, 2, 'sort');
  const { length } = table;
  if (comparator === undefined && sortPlain(table, length, meter)) return [];
  return new QuickSort(table, comparator, meter).run(length);
}

/** False where it is not all strings, or all numbers of which no two are equal and yet differ. */
function sortPlain(table: LuaTable, length: number, meter: Meter): boolean {
  meter.steps(length);
  const values: LuaValue[] = [];
  for (let at = 1; at <= length; at++) values.push(table.get(at));
  if (values.every((value) => typeof value === 'string')) {
    meter.steps(comparisonSteps(length) + sharedSteps(values as string[]));
    values.sort((a, b) => (a === b ? 0 : (a as string) < (b as string) ? -1 : 1));
  } else if (values.every(isOrdinary)) {
    meter.steps(comparisonSteps(length));
    values.sort((a, b) => (a as number) - (b as number));
  } else return false;
  for (const [at, value] of values.entries()) table.set(at + 1, value);
  return true;
}

function isOrdinary(value: LuaValue): boolean {
  return typeof value === 'number' && Number.isFinite(value) && !Object.is(value, -0);
}

function comparisonSteps(length: number): number {
  return length * (32 - Math.clz32(length));
}

/** Long strings that begin alike take longer to compare. */
function sharedSteps(values: readonly string[]): number {
  let bytes = 0;
  for (const value of values) bytes += value.length;
  return Math.floor((bytes * (32 - Math.clz32(values.length))) / 16);
}

type Step<Result> = Generator<LuaRequest, Result, readonly LuaValue[]>;

class QuickSort {
  readonly #table: LuaTable;
  readonly #comparator: LuaValue;
  readonly #meter: Meter;

  constructor(table: LuaTable, comparator: LuaValue, meter: Meter) {
    this.#table = table;
    this.#comparator = comparator;
    this.#meter = meter;
  }

  *run(length: number): LuaRun {
    /** Parts that are still to be sorted; the smaller one always first, so that few wait. */
    const parts: [number, number][] = [[1, length]];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      const [low, high] = part;
      if (low >= high) continue;
      const middle = yield* this.#partition(low, high);
      if (middle === undefined) continue;
      const below: [number, number] = [low, middle - 1];
      const above: [number, number] = [middle + 1, high];
      if (middle - low < high - middle) parts.push(above, below);
      else parts.push(below, above);
    }
    return [];
  }

  /** Where the pivot has come to; undefined: three or fewer, which are sorted. */
  *#partition(low: number, high: number): Step<number | undefined> {
    if (yield* this.#less(this.#get(high), this.#get(low))) this.#swap(low, high);
    if (high - low === 1) return undefined;
    const middle = Math.floor((low + high) / 2);
    if (yield* this.#less(this.#get(middle), this.#get(low))) this.#swap(middle, low);
    else if (yield* this.#less(this.#get(high), this.#get(middle))) this.#swap(middle, high);
    if (high - low === 2) return undefined;
    const pivot = this.#get(middle);
    this.#swap(middle, high - 1);
    return yield* this.#around(pivot, low, high);
  }

  *#around(pivot: LuaValue, low: number, high: number): Step<number> {
    let up = low;
    let down = high - 1;
    for (;;) {
      while (yield* this.#less(this.#get(++up), pivot)) {
        if (up > high) throw new LuaError('invalid order function for sorting');
      }
      while (yield* this.#less(pivot, this.#get(--down))) {
        if (down < low) throw new LuaError('invalid order function for sorting');
      }
      if (down < up) break;
      this.#swap(up, down);
    }
    this.#swap(high - 1, up);
    return up;
  }

  *#less(a: LuaValue, b: LuaValue): Step<boolean> {
    this.#meter.steps(1);
    if (this.#comparator !== undefined) return isTruthy(yield* callFor(this.#comparator, [a, b]));
    const less = plainlyLess(a, b);
    return less === undefined ? yield* lessByMetatable(a, b) : less;
  }

  #get(at: number): LuaValue {
    return this.#table.get(at);
  }

  #swap(a: number, b: number): void {
    const value = this.#table.get(a);
    const other = this.#table.get(b);
    this.#meter.bytes(this.#table.set(a, other));
    this.#meter.bytes(this.#table.set(b, value));
  }
}
