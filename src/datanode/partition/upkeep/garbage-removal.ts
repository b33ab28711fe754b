/**
 * Removes the elements that deleted collections left in one engine (decision 14): a slice at a time,
 * between the batches that clients wait for. What is lost of it in a crash is done again, because
 * the garbage record goes last and an engine's log is cut only from its end.
 */

import { elementRanges, garbageRange } from '../../encoding/keyspace/garbage.ts';
import { keyAfter } from '../../encoding/records/key.ts';
import { type BatchOperation, type Engine, type KeyRange, limited } from '../../engine/engine.ts';

/** Keys removed in one batch: little enough beside what clients wait for in the same turn. */
export const GARBAGE_SLICE = 128;

export class GarbageRemoval {
  readonly #engine: Engine;
  /** There may be garbage records; so it is until a look found none. */
  #pending = true;
  /** The last key removed: LevelDB would pass over all that were removed before it once more. */
  #last: Buffer | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get pending(): boolean {
    return this.#pending;
  }

  note(): void {
    this.#pending = true;
  }

  /** One slice; rejects as the engine's write does. */
  async removeSlice(): Promise<void> {
    this.#pending = false; // what is noted from here on counts
    const [record] = await this.#keysOf(garbageRange(), 1);
    if (record === undefined) return;
    this.#pending = true;
    const ranges = rangesBehind(this.#last, [...elementRanges(record)]);
    const keys: Buffer[] = [];
    for (const range of ranges) {
      keys.push(...(await this.#keysOf(range, GARBAGE_SLICE - keys.length)));
      if (keys.length === GARBAGE_SLICE) break;
    }
    const isWhole = this.#last === undefined;
    this.#last = keys.length === GARBAGE_SLICE ? keys.at(-1) : undefined;
    // the record goes when a look from the beginning on has found the end
    if (this.#last === undefined && isWhole) keys.push(record);
    if (keys.length === 0) return;
    await this.#engine.write(keys.map((key): BatchOperation => ({ type: 'del', key })));
  }

  async #keysOf(range: KeyRange, limit: number): Promise<Buffer[]> {
    const keys: Buffer[] = [];
    const iterator = this.#engine.iterate({ ...limited(range, limit), keysOnly: true });
    try {
      while (keys.length < limit) {
        const pairs = await iterator.next(limit - keys.length);
        if (pairs.length === 0) break;
        for (const [key] of pairs) keys.push(key);
      }
    } finally {
      await iterator.close();
    }
    return keys;
  }
}

/** What of `ranges` lies behind `last`; all of them when it is in none. */
function rangesBehind(last: Buffer | undefined, ranges: readonly KeyRange[]): readonly KeyRange[] {
  const at = ranges.findIndex(
    ({ gte, lt }) => last !== undefined && gte.compare(last) <= 0 && last.compare(lt) < 0,
  );
  if (at < 0) return ranges;
  return [{ ...ranges[at]!, gte: keyAfter(last!) }, ...ranges.slice(at + 1)];
}
