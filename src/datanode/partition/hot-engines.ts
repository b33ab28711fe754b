/**
 * Engines that say what is known of their ranges (`hot-ranges.ts`), of keys that are not there
 * (`known-keys.ts`) and of strings that are (`known-strings.ts`): every write passes here.
 */
import { limits } from '../../common/limits.ts';
import type { TxnReader } from '../encoding/txn.ts';
import type {
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from '../engine/engine.ts';
import { HotPool, HotRanges } from './hot-ranges.ts';
import { KnownKeys, type KnownKeysWorld } from './known-keys.ts';
import { EngineStrings, type KnownStrings } from './known-strings.ts';

export interface ReadEngine extends Engine, TxnReader {
  readonly hot?: HotRanges;
  /** The engine behind, as it was opened: for who looks into it. */
  readonly cold?: Engine;
}

/** The same engines; all that are open share `pool`, `strings`, and the memory of `world`. */
export function withHotRanges(
  engines: EngineHost,
  world: KnownKeysWorld,
  strings: KnownStrings,
  pool = new HotPool(),
): EngineHost {
  const opened = new Map<string, HotEngine>();
  return {
    open: async (name) => {
      // to look whether one has records would be to walk all that were deleted of them
      const isNew = !(await engines.list()).includes(name);
      const { engine, report } = await engines.open(name);
      const keys = new KnownKeys(engine, isNew, world);
      const hot = new HotEngine(engine, keys, new EngineStrings(strings), pool);
      opened.set(name, hot);
      return { engine: hot, report };
    },
    remove: async (name) => {
      // it need not have been closed: what it takes of the memory goes in any case
      void opened.get(name)?.forget();
      opened.delete(name);
      await engines.remove(name);
    },
    list: () => engines.list(),
    verifyTables: (name, pace) => engines.verifyTables(name, pace),
  };
}

class HotEngine implements ReadEngine {
  readonly hot: HotRanges;
  readonly cold: Engine;
  readonly #keys: KnownKeys;
  readonly #strings: EngineStrings;

  constructor(engine: Engine, keys: KnownKeys, strings: EngineStrings, pool: HotPool) {
    this.cold = engine;
    this.hot = new HotRanges(pool);
    this.#keys = keys;
    this.#strings = strings;
  }

  holdsPlainString(key: Buffer): boolean {
    return this.#strings.has(key);
  }

  getSync(key: Buffer): Buffer | undefined {
    if (this.#keys.isAbsent(key)) return undefined;
    const value = this.cold.getSync(key);
    if (value === undefined) this.#keys.missed(key);
    return value;
  }

  getMany(keys: readonly Buffer[]): Promise<(Buffer | undefined)[]> {
    return this.cold.getMany(keys);
  }

  iterate(range: KeyRange): EngineIterator {
    return this.cold.iterate(range);
  }

  snapshot(): EngineSnapshot {
    return this.cold.snapshot();
  }

  /** A snapshot that is taken meanwhile may hold the batch or not: it is told of at both ends. */
  async write(operations: BatchOperations): Promise<void> {
    this.#changed(operations);
    this.#keys.changing(operations);
    this.#strings.changing(operations);
    try {
      await this.cold.write(operations);
    } finally {
      this.#changed(operations);
    }
  }

  async clearRange(range: KeyRange): Promise<void> {
    this.hot.clear();
    const ended = this.#keys.clearing(range);
    this.#strings.forget();
    try {
      await this.cold.clearRange(range);
      ended('cleared');
    } catch (failure) {
      ended('failed');
      throw failure;
    } finally {
      this.hot.clear();
    }
  }

  approximateBytes(): Promise<number> {
    return this.cold.approximateBytes();
  }

  sync(): Promise<void> {
    return this.cold.sync();
  }

  async close(): Promise<void> {
    const scanEnded = this.forget();
    await this.cold.close();
    await scanEnded;
  }

  /** Nothing is known any more; the engine goes. */
  forget(): Promise<void> {
    this.hot.clear();
    this.#strings.forget();
    return this.#keys.close();
  }

  #changed(operations: BatchOperations): void {
    if (this.hot.isIdle) return;
    // to look at all of a large batch would be a turn's work
    if (operations.length > limits.hotChangesMax) this.hot.clear();
    else for (const { key } of operations) this.hot.changed(key);
  }
}
