/**
 * Engines over LevelDB, one directory each. The only file that imports classic-level.
 *
 * classic-level runs batches on a thread pool, so two batches given to it at once may change
 * places: one write is in flight per engine, and those that wait meanwhile go together as the
 * next. `sync` does not pass through LevelDB: it syncs the logs' files itself, the ones LevelDB
 * has left too (LevelDB never syncs those), while writes go on. After a failed write or sync the
 * engine takes no further one: LevelDB would go on after a hole in its log.
 */
import { ClassicLevel, type Snapshot } from 'classic-level';
import { assert } from '../../common/assert.ts';
import { type Clock, systemClock } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import type { Logger } from '../../common/log.ts';
import { UnderWay } from '../../common/under-way.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineIterator,
  EngineReport,
  EngineSnapshot,
  KeyRange,
  KeyValue,
} from './engine.ts';
import { HeldStates } from './held-states.ts';
import {
  endLargeWrite,
  type LargeWriteSizes,
  LargeWrites,
  type PartTarget,
} from './large-write.ts';
import { engineError, guard } from './level-errors.ts';
import { givenBackOnce, type LevelHandle, type LevelReading } from './level-handles.ts';
import { LevelReader } from './level-reader.ts';
import { LevelLogSync, LOG_PADDING, makeLevelDirectory } from './level-sync.ts';
import { runClearing } from './pool-share.ts';
import { verifyLevelDirectory, verifyLevelTables } from './verify.ts';
import { WriteQueue } from './write-queue.ts';
import { prepareInSteps, type Turn, turnsOf, writeInSteps } from './write-steps.ts';

type Level = ClassicLevel<Buffer, Buffer>;

const KIB = 1024;
const MIB = 1024 * KIB;
const WRITE_BUFFER_BYTES_MIN = 256 * KIB;
const CACHE_BYTES_MIN = 256 * KIB;
const WRITE_BUFFER_BYTES_MAX = 8 * MIB;
/** Budget shares are cut for at least this many engines: the partitions of a new cluster. */
const ENGINES_EXPECTED_MIN = 8;
const ITERATOR_CHUNK_BYTES = 1 * MIB;
const BUFFERS = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
/** Keys of a range that are read at once to be cleared. */
const CLEARED_STEP = 4_096;
/** Bytes of keys that LevelDB's own clearing removes in one batch: its snapshot is open no longer. */
const CLEARED_BATCH_BYTES = 16 * KIB;
const NAME = /^\d+-\d+$/;
const REMOVED_PREFIX = 'removed-';

export interface LevelHostOptions {
  /** Holds one directory per engine; created when missing. This process is its only user. */
  readonly dir: string;
  readonly disk: Disk;
  readonly logger: Logger;
  /** Write buffers and block caches of all engines together. */
  readonly cacheBytes: number;
  /** Of one engine (LevelDB may hold two); by default a share of `cacheBytes`, 8 MiB at most. */
  readonly writeBufferBytes?: number;
  /** Of a table; a test's. */
  readonly fileBytes?: number;
  /** Gives the turns between the steps of a large batch; the system's by default. */
  readonly clock?: Clock;
  /** What goes in parts; a test's. */
  readonly largeWrites?: LargeWriteSizes;
  /** What a state that is held may remember; a test's. */
  readonly stateBytesMax?: number;
}

/** Engines in LevelDB directories below `options.dir`. */
export function createLevelHost(options: LevelHostOptions): EngineHost {
  return new LevelHost(options);
}

/**
 * Makes the thread that LevelDB compacts with, one for all engines of a process, which else comes with
 * the first compaction. `dir`: an empty directory, which is left with files in it.
 */
export async function makeCompactionThread(dir: string): Promise<void> {
  const level = new ClassicLevel<string, string>(dir);
  try {
    await level.put('', '');
    await level.compactRange('', '\uffff');
  } finally {
    await level.close();
  }
}

class LevelHost implements EngineHost {
  readonly #options: LevelHostOptions;
  readonly #engines = new Map<string, LevelEngine | 'opening'>();
  #swept: Promise<void> | undefined;

  constructor(options: LevelHostOptions) {
    this.#options = options;
  }

  async open(name: string): Promise<{ engine: Engine; report: EngineReport }> {
    assert(NAME.test(name), () => `an engine's name is <replica id>-<generation>, not ${name}`);
    assert(!this.#engines.has(name), () => `engine ${name} is open already`);
    this.#engines.set(name, 'opening');
    try {
      const opened = await this.#open(name);
      this.#engines.set(name, opened.engine);
      return opened;
    } catch (error) {
      this.#engines.delete(name);
      throw error;
    }
  }

  async #open(name: string): Promise<{ engine: LevelEngine; report: EngineReport }> {
    const { dir, disk, logger } = this.#options;
    const path = `${dir}/${name}`;
    const started = await verifyLevelDirectory(disk, path);
    if (started.cuts.length > 0) {
      logger.warn('engine log cut', { engine: name, bytes: started.cutBytes, cuts: started.cuts });
    }
    if ((await disk.list(path)).length === 0) await makeLevelDirectory(disk, path);
    const level: Level = new ClassicLevel(path, {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      ...this.#sizes(await this.list()),
    });
    const { clock = systemClock, largeWrites, stateBytesMax } = this.#options;
    const turn = turnsOf(clock);
    try {
      await level.open();
      await disk.syncDir(path);
      const batch = (operations: BatchOperations) => writeInSteps(level, operations, turn);
      const ended = await endLargeWrite(new LevelReader(path, reading(level)), batch);
      if (ended !== 'nothing')
        logger.warn('large write cut off by a crash', { engine: name, ended });
    } catch (error) {
      await level.close().catch(() => {});
      throw engineError(path, error);
    }
    const onClose = () => this.#engines.delete(name);
    const engine = new LevelEngine(path, level, {
      disk,
      turn,
      onClose,
      largeWrites,
      stateBytesMax,
    });
    return { engine, report: started };
  }

  /** LevelDB's options: the budget is shared out over the engines there are. */
  #sizes(names: readonly string[]): Record<string, number | boolean> {
    const share = Math.floor(
      this.#options.cacheBytes / Math.max(ENGINES_EXPECTED_MIN, names.length),
    );
    const writeBufferSize =
      this.#options.writeBufferBytes ??
      Math.min(WRITE_BUFFER_BYTES_MAX, Math.max(WRITE_BUFFER_BYTES_MIN, Math.floor(share * 0.4)));
    return {
      // 300,000 pairs of 200 bytes, read from cache: 3.8 µs plain, 6.8 µs with snappy; scans twice
      // as fast. Plain blocks are read in the mapped file: the page cache is their cache.
      compression: false,
      writeBufferSize,
      // blocks of tables beyond the 1,000 that LevelDB maps per process
      cacheSize: Math.max(CACHE_BYTES_MIN, share - 2 * writeBufferSize),
      maxFileSize: this.#options.fileBytes ?? 8 * MIB,
    };
  }

  /** Closes the engine if it is open, then removes its directory. No error when there is none. */
  async remove(name: string): Promise<void> {
    assert(NAME.test(name), () => `an engine's name is <replica id>-<generation>, not ${name}`);
    const engine = this.#engines.get(name);
    assert(engine !== 'opening', () => `engine ${name} is being opened`);
    await engine?.close();
    await this.list();
    const { dir, disk } = this.#options;
    if (!(await disk.exists(`${dir}/${name}`))) return;
    // renamed first, so that a removal cut short never looks like a damaged engine
    const doomed = `${dir}/${REMOVED_PREFIX}${name}`;
    await disk.removeTree(doomed);
    await disk.rename(`${dir}/${name}`, doomed);
    await disk.removeTree(doomed);
    await disk.syncDir(dir);
  }

  async list(): Promise<string[]> {
    const { dir, disk } = this.#options;
    this.#swept ??= this.#sweep();
    await this.#swept;
    return (await disk.list(dir)).filter((name) => NAME.test(name));
  }

  verifyTables(name: string, pace: (bytes: number) => Promise<void>): Promise<void> {
    assert(NAME.test(name), () => `an engine's name is <replica id>-<generation>, not ${name}`);
    return verifyLevelTables(this.#options.disk, `${this.#options.dir}/${name}`, pace);
  }

  /** Ends the removals that an earlier process began. */
  async #sweep(): Promise<void> {
    const { dir, disk } = this.#options;
    for (const name of await disk.list(dir)) {
      if (name.startsWith(REMOVED_PREFIX)) await disk.removeTree(`${dir}/${name}`);
    }
  }
}

/** `level` as it is read here. */
function reading(level: Level): LevelReading {
  const handleOf = (snapshot: LevelHandle) => ({ snapshot: snapshot as Snapshot });
  return {
    getSync: (key, snapshot) =>
      snapshot === undefined
        ? level.getSync(key)
        : level.getSync(key, { ...BUFFERS, ...handleOf(snapshot) }),
    iterate: (options) =>
      level.iterator<Buffer, Buffer>({
        ...options,
        ...handleOf(options.snapshot),
        highWaterMarkBytes: ITERATOR_CHUNK_BYTES,
      }),
    snapshot: () => givenBackOnce(level.snapshot()),
  };
}

/** The removals of `keys`, as many in one as LevelDB's clearing carries out in one batch. */
function* clearingSteps(keys: readonly KeyValue[]): Generator<BatchOperation[], void, unknown> {
  let step: BatchOperation[] = [];
  let bytes = 0;
  for (const [key] of keys) {
    if (bytes + key.length > CLEARED_BATCH_BYTES && step.length > 0) {
      yield step;
      step = [];
      bytes = 0;
    }
    step.push({ type: 'del', key });
    bytes += key.length;
  }
  if (step.length > 0) yield step;
}

interface EngineWorld {
  readonly disk: Disk;
  readonly turn: Turn;
  readonly onClose: () => void;
  readonly largeWrites: LargeWriteSizes | undefined;
  readonly stateBytesMax: number | undefined;
}

/** Behind every key: those begin with a tag. */
const LAST_KEY = Buffer.alloc(8, 0xff);

class LevelEngine extends LevelReader implements Engine {
  readonly #path: string;
  readonly #level: Level;
  readonly #writes: WriteQueue;
  readonly #large: LargeWrites;
  readonly #states: HeldStates;
  readonly #logs: LevelLogSync;
  readonly #onClose: () => void;
  readonly #syncing = new UnderWay();
  #closing: Promise<void> | undefined;

  constructor(path: string, level: Level, world: EngineWorld) {
    const { disk, turn, onClose, largeWrites, stateBytesMax } = world;
    super(path, reading(level));
    this.#path = path;
    this.#level = level;
    this.#onClose = onClose;
    this.#logs = new LevelLogSync(disk, path);
    const states = new HeldStates(path, reading(level), turn, stateBytesMax);
    this.#states = states;
    const batch = (operations: BatchOperations) =>
      states.write(operations, () => guard(path, writeInSteps(level, operations, turn)));
    const prepare: PartTarget['prepare'] = async (operations, bytes) => {
      // the end of the part before may have been this turn's work
      await turn.next();
      const part = await guard(path, prepareInSteps(level, operations, bytes, turn));
      return { ...part, write: () => states.write([], () => guard(path, part.write())) };
    };
    const target: PartTarget = {
      batch,
      prepare,
      stored: new LevelReader(path, reading(level)),
      hold: () => states.hold(),
      remember: (operations) => states.remember(operations),
    };
    this.#large = new LargeWrites(target, largeWrites);
    this.#writes = new WriteQueue({
      batch: (operations) =>
        this.#large.isLarge(operations) ? this.#large.write(operations) : batch(operations),
      clear: (range) => guard(path, this.#clear(range)),
    });
  }

  override getSync(key: Buffer): Buffer | undefined {
    const { shown } = this.#large;
    return shown === undefined ? super.getSync(key) : shown.getSync(key);
  }

  override iterate(range: KeyRange): EngineIterator {
    return this.#large.ranges?.iterate(range) ?? super.iterate(range);
  }

  snapshot(): EngineSnapshot {
    return this.#large.snapshot() ?? this.#states.hold();
  }

  write(operations: BatchOperations): Promise<void> {
    return this.#writes.batch(operations);
  }

  clearRange(range: KeyRange): Promise<void> {
    return this.#writes.clear(range);
  }

  /** In steps of one batch each: LevelDB's own clearing holds a snapshot for its time (`kept-state`). */
  async #clear(range: KeyRange): Promise<void> {
    const iterator = this.iterate({ ...range, keysOnly: true });
    try {
      for (;;) {
        const keys = await iterator.next(CLEARED_STEP);
        if (keys.length === 0) return;
        for (const step of clearingSteps(keys)) await this.#clearStep(step);
      }
    } finally {
      await iterator.close();
    }
  }

  #clearStep(operations: readonly BatchOperation[]): Promise<void> {
    const [first, last] = [operations[0]!, operations.at(-1)!];
    const clear = () => runClearing(() => this.#level.clear({ gte: first.key, lte: last.key }));
    return this.#states.write(operations, clear);
  }

  approximateBytes(): Promise<number> {
    return this.#level.approximateSize(Buffer.alloc(0), LAST_KEY);
  }

  sync(): Promise<void> {
    return this.#syncing.add(this.#sync());
  }

  async #sync(): Promise<void> {
    await this.#writes.batchAlone(LOG_PADDING);
    try {
      await this.#logs.sync();
    } catch (error) {
      throw this.#writes.fail(engineError(this.#path, error));
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#writes.close();
    await this.#syncing.settled();
    await guard(this.#path, this.#level.close());
    this.#onClose();
  }
}
