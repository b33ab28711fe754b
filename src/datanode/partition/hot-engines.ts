/** Engines that say what is known of their ranges (`hot-ranges.ts`): every write passes here. */
import { limits } from '../../common/limits.ts';
import type {
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from '../engine/engine.ts';
import { HotPool, HotRanges } from './hot-ranges.ts';

export interface ReadEngine extends Engine {
  readonly hot?: HotRanges;
  /** The engine behind, as it was opened: for who looks into it. */
  readonly cold?: Engine;
}

/** The same engines; all that are open share `pool`. */
export function withHotRanges(engines: EngineHost, pool = new HotPool()): EngineHost {
  return {
    open: async (name) => {
      const { engine, report } = await engines.open(name);
      return { engine: new HotEngine(engine, pool), report };
    },
    remove: (name) => engines.remove(name),
    list: () => engines.list(),
    verifyTables: (name, pace) => engines.verifyTables(name, pace),
  };
}

class HotEngine implements ReadEngine {
  readonly hot: HotRanges;
  readonly cold: Engine;

  constructor(engine: Engine, pool: HotPool) {
    this.cold = engine;
    this.hot = new HotRanges(pool);
  }

  getSync(key: Buffer): Buffer | undefined {
    return this.cold.getSync(key);
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
    try {
      await this.cold.write(operations);
    } finally {
      this.#changed(operations);
    }
  }

  async clearRange(range: KeyRange): Promise<void> {
    this.hot.clear();
    try {
      await this.cold.clearRange(range);
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

  close(): Promise<void> {
    this.hot.clear();
    return this.cold.close();
  }

  #changed(operations: BatchOperations): void {
    if (this.hot.isIdle) return;
    // to look at all of a large batch would be a turn's work
    if (operations.length > limits.hotChangesMax) this.hot.clear();
    else for (const { key } of operations) this.hot.changed(key);
  }
}
