/**
 * Engines that say what is known of their ranges (`hot-ranges.ts`), of keys that are not there
 * (`known-keys.ts`) and of those that are (`known-records.ts`, `hot-values.ts`): every write passes here.
 */
import type { Clock } from '../../../common/clock.ts';
import { limits } from '../../../common/limits.ts';
import type { Random } from '../../../common/random.ts';
import { isMemberKey } from '../../encoding/records/element-key.ts';
import { isRecordKey } from '../../encoding/records/key.ts';
import type { TxnReader } from '../../encoding/txn/txn.ts';
import type {
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineSnapshot,
  KeyRange,
} from '../../engine/engine.ts';
import type { HostSettings } from '../host/host-settings.ts';
import { HotPool, HotRanges } from './hot-ranges.ts';
import { HotValues } from './hot-values.ts';
import { KnownKeys, type KnownKeysWorld, knownKeysWorld, MEMBERS } from './known-keys.ts';
import { EngineRecords, KnownRecords } from './known-records.ts';
import { ValueRing } from './value-ring.ts';

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
  readonly values: ValueRing;
}

type KnownSettings = Pick<HostSettings, 'keyFilterMisses' | 'knownRecordsBytes' | 'hotValuesBytes'>;

/** Of a node that has just begun. */
export function knownWorld(clock: Clock, settings: KnownSettings, random: Random): KnownWorld {
  const { keyFilterMisses, knownRecordsBytes, hotValuesBytes } = settings;
  return {
    absentRecords: knownKeysWorld(clock, keyFilterMisses),
    absentMembers: knownKeysWorld(clock, keyFilterMisses, MEMBERS, limits.memberFiltersBytes),
    records: new KnownRecords(random, knownRecordsBytes),
    values: new ValueRing(random, hotValuesBytes),
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

/** Keys of records, or of members, of one engine. */
interface Kind {
  readonly absent: KnownKeys;
  /**
   * Of the last that was looked for nothing was known. The next one is likely to be as it was, so who
   * brings in new keys asks the filter alone, and who replaces what there is does not ask it.
   */
  areNew: boolean;
}

class HotEngine implements ReadEngine {
  readonly hot: HotRanges;
  readonly cold: Engine;
  readonly #records: Kind;
  readonly #members: Kind;
  readonly #known: EngineRecords;
  readonly #values: HotValues;

  constructor(engine: Engine, isNew: boolean, world: KnownWorld, pool: HotPool) {
    this.cold = engine;
    this.hot = new HotRanges(pool);
    this.#records = { absent: new KnownKeys(engine, isNew, world.absentRecords), areNew: false };
    this.#members = { absent: new KnownKeys(engine, isNew, world.absentMembers), areNew: false };
    this.#known = new EngineRecords(world.records);
    this.#values = new HotValues(world.values);
  }

  holdsPlain(key: Buffer): boolean {
    const kind = this.#kindOf(key);
    if (kind.areNew && kind.absent.isAbsent(key)) return false;
    const holds = this.#known.holdsPlain(key);
    kind.areNew = !holds;
    return holds;
  }

  knownValue(key: Buffer): Buffer | undefined {
    if (!isMemberKey(key)) return this.#known.valueOf(key);
    if (this.#members.areNew && this.#members.absent.isAbsent(key)) return undefined;
    const value = this.#known.valueOf(key);
    this.#members.areNew = value === undefined;
    return value;
  }

  getSync(key: Buffer): Buffer | undefined {
    const kept = this.#values.valueOf(key);
    if (kept !== undefined) return kept;
    const { absent } = this.#kindOf(key);
    if (absent.isAbsent(key)) return undefined;
    const value = this.cold.getSync(key);
    if (value === undefined) absent.missed(key);
    else this.#values.read(key, value);
    return value;
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
    this.#values.began();
    this.#changing(operations);
    try {
      await this.cold.write(operations);
    } finally {
      this.#values.ended();
      this.#changed(operations);
    }
  }

  async clearRange(range: KeyRange): Promise<void> {
    this.hot.clear();
    const ends = [this.#records, this.#members].map(({ absent }) => absent.clearing(range));
    this.#known.forget();
    this.#values.began();
    this.#values.forget();
    try {
      await this.cold.clearRange(range);
      for (const ended of ends) ended('cleared');
    } catch (failure) {
      for (const ended of ends) ended('failed');
      throw failure;
    } finally {
      this.#values.ended();
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
    this.#known.forget();
    this.#values.forget();
    await Promise.all([this.#records.absent.close(), this.#members.absent.close()]);
  }

  #kindOf(key: Buffer): Kind {
    return isRecordKey(key) ? this.#records : this.#members;
  }

  /**
   * Who remembers keys is told of a batch: in one walk, unless it is large. Of one of some thousands what
   * was read is forgotten as a whole, and elements that it brings in are not remembered: it would be a
   * turn's work. Records are: such batches are also those of a follower that applies many SETs at once.
   */
  #changing(operations: BatchOperations): void {
    const { length } = operations;
    const isSmall = length <= limits.hotChangesMax;
    if (!isSmall) this.#values.forget();
    if (length > limits.keyFilterChangesMax) {
      this.#records.absent.changing(operations);
      this.#members.absent.changing(operations);
      return this.#known.changing(operations);
    }
    for (const operation of operations) {
      const { type, key } = operation;
      if (isSmall) this.#values.changing(key);
      const isRecord = isRecordKey(key);
      const isOne = type === 'put' && (isRecord || isMemberKey(key));
      const isNew = isOne && this.#kindOf(key).absent.putting(key);
      if (isRecord || isSmall || !isNew) this.#known.changingOne(operation, isNew);
    }
  }

  #changed(operations: BatchOperations): void {
    if (this.hot.isIdle) return;
    // to look at all of a large batch would be a turn's work
    if (operations.length > limits.hotChangesMax) this.hot.clear();
    else for (const { key } of operations) this.hot.changed(key);
  }
}
