/**
 * Engines that say what is known of their ranges (`hot-ranges.ts`), of keys that are not there
 * (`known-keys.ts`) and of those that are (`known-records.ts`): every write passes here.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { Random } from '../../common/random.ts';
import { isRecordKey } from '../encoding/key.ts';
import type { TxnReader } from '../encoding/txn.ts';
import type {
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from '../engine/engine.ts';
import type { HostSettings } from './host-settings.ts';
import { HotPool, HotRanges } from './hot-ranges.ts';
import { KnownKeys, type KnownKeysWorld, knownKeysWorld, MEMBERS } from './known-keys.ts';
import { EngineRecords, KnownRecords } from './known-records.ts';

export interface ReadEngine extends Engine, TxnReader {
  readonly hot?: HotRanges;
  /** The engine behind, as it was opened: for who looks into it. */
  readonly cold?: Engine;
}

/** What engines share of what is known of their keys. */
export interface KnownWorld {
  readonly absentRecords: KnownKeysWorld;
  readonly absentMembers: KnownKeysWorld;
  readonly records: KnownRecords;
}

type KnownSettings = Pick<HostSettings, 'keyFilterMisses' | 'knownRecordsBytes'>;

/** Of a node that has just begun. */
export function knownWorld(clock: Clock, settings: KnownSettings, random: Random): KnownWorld {
  const { keyFilterMisses, knownRecordsBytes } = settings;
  return {
    absentRecords: knownKeysWorld(clock, keyFilterMisses),
    absentMembers: knownKeysWorld(clock, keyFilterMisses, MEMBERS, limits.memberFiltersBytes),
    records: new KnownRecords(random, knownRecordsBytes),
  };
}

/** The same engines; all that are open share `pool`, and the memory of `world`. */
export function withHotRanges(
  engines: EngineHost,
  world: KnownWorld,
  pool = new HotPool(),
): EngineHost {
  const opened = new Map<string, HotEngine>();
  return {
    open: async (name) => {
      // to look whether one has records would be to walk all that were deleted of them
      const isNew = !(await engines.list()).includes(name);
      const { engine, report } = await engines.open(name);
      const hot = new HotEngine(engine, isNew, world, pool);
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
  readonly #absentRecords: KnownKeys;
  readonly #absentMembers: KnownKeys;
  readonly #records: EngineRecords;

  constructor(engine: Engine, isNew: boolean, world: KnownWorld, pool: HotPool) {
    this.cold = engine;
    this.hot = new HotRanges(pool);
    this.#absentRecords = new KnownKeys(engine, isNew, world.absentRecords);
    this.#absentMembers = new KnownKeys(engine, isNew, world.absentMembers);
    this.#records = new EngineRecords(world.records);
  }

  holdsPlain(key: Buffer): boolean {
    return this.#records.holdsPlain(key);
  }

  knownValue(key: Buffer): Buffer | undefined {
    return this.#records.valueOf(key);
  }

  getSync(key: Buffer): Buffer | undefined {
    const absent = isRecordKey(key) ? this.#absentRecords : this.#absentMembers;
    if (absent.isAbsent(key)) return undefined;
    const value = this.cold.getSync(key);
    if (value === undefined) absent.missed(key);
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
    this.#absentRecords.changing(operations);
    this.#absentMembers.changing(operations);
    this.#records.changing(operations);
    try {
      await this.cold.write(operations);
    } finally {
      this.#changed(operations);
    }
  }

  async clearRange(range: KeyRange): Promise<void> {
    this.hot.clear();
    const ends = [this.#absentRecords, this.#absentMembers].map((keys) => keys.clearing(range));
    this.#records.forget();
    try {
      await this.cold.clearRange(range);
      for (const ended of ends) ended('cleared');
    } catch (failure) {
      for (const ended of ends) ended('failed');
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
  async forget(): Promise<void> {
    this.hot.clear();
    this.#records.forget();
    await Promise.all([this.#absentRecords.close(), this.#absentMembers.close()]);
  }

  #changed(operations: BatchOperations): void {
    if (this.hot.isIdle) return;
    // to look at all of a large batch would be a turn's work
    if (operations.length > limits.hotChangesMax) this.hot.clear();
    else for (const { key } of operations) this.hot.changed(key);
  }
}
