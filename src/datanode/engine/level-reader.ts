/**
 * Reads of a LevelDB: at its newest state, or at one that is held. No snapshot of LevelDB is held while
 * anything is written (`kept-state` says why): an iterator needs one only while it is made, and
 * `held-states` sees to those who read single keys.
 */
import { assert } from '../../common/assert.ts';
import { limits } from '../../common/limits.ts';
import type { EngineIterator, EngineReader, KeyRange, KeyValue } from './engine.ts';
import { engineError } from './level-errors.ts';
import {
  giveBack,
  type LevelHandle,
  type LevelIterating,
  type LevelReading,
  NO_VALUE,
  rangeOptions,
} from './level-handles.ts';

export class LevelReader implements EngineReader {
  readonly #path: string;
  readonly #level: LevelReading;

  constructor(path: string, level: LevelReading) {
    this.#path = path;
    this.#level = level;
  }

  getSync(key: Buffer): Buffer | undefined {
    try {
      return this.#level.getSync(key);
    } catch (error) {
      throw engineError(this.#path, error);
    }
  }

  iterate(range: KeyRange): EngineIterator {
    const snapshot = this.#level.snapshot();
    const iterator = new LevelIterator(this.#path, this.#level, range, snapshot);
    giveBack(snapshot);
    return {
      next: (count) => iterator.next(count),
      close: async () => {
        await iterator.close();
        await snapshot.close();
      },
    };
  }
}

/** Of the state of a snapshot, which may be given back once it is made. */
export class LevelIterator implements EngineIterator {
  readonly #path: string;
  readonly #iterating: LevelIterating;
  readonly #keysOnly: boolean;

  constructor(path: string, level: LevelReading, range: KeyRange, snapshot: LevelHandle) {
    this.#path = path;
    this.#keysOnly = range.keysOnly === true;
    this.#iterating = level.iterate({
      ...rangeOptions(range),
      values: !this.#keysOnly,
      snapshot,
    });
  }

  async next(count: number): Promise<KeyValue[]> {
    assert(count >= 1, () => `an iterator's step is at least 1, not ${count}`);
    try {
      const pairs = await this.#iterating.nextv(Math.min(count, limits.scanCountMax));
      return this.#keysOnly ? pairs.map(([key]) => [key, NO_VALUE]) : pairs;
    } catch (error) {
      throw engineError(this.#path, error);
    }
  }

  close(): Promise<void> {
    return this.#iterating.close();
  }
}
