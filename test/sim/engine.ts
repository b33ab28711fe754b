/**
 * Engines of a simulated node: an ordered map over logs of LevelDB's format on the simulated disk.
 * A batch is written and not synced; after a crash the product's own verification reads the logs,
 * cuts them, and what is left is read as LevelDB would. There are no tables: logs stay.
 */
import { assert } from '../../src/common/assert.ts';
import type { Disk, DiskFile } from '../../src/common/disk.ts';
import { readFile, replaceFile } from '../../src/common/disk.ts';
import { KvorumError, messageOf } from '../../src/common/errors.ts';
import type {
  BatchOperation,
  BatchOperations,
  Engine,
  EngineHost,
  EngineReport,
  KeyRange,
} from '../../src/datanode/engine/engine.ts';
import {
  endLargeWrite,
  type LargeWriteSizes,
  LargeWrites,
} from '../../src/datanode/engine/large-write.ts';
import { LevelLogSync, LOG_PADDING } from '../../src/datanode/engine/level-sync.ts';
import { verifyLevelDirectory } from '../../src/datanode/engine/verify.ts';
import { WriteBehindEngine } from '../../src/datanode/engine/write-behind.ts';
import { WriteQueue } from '../../src/datanode/engine/write-queue.ts';
import type { ReadEngine } from '../../src/datanode/partition/remembering/hot-engines.ts';
import { preparing } from '../datanode/engine/prepare-part.ts';
import { EngineImage } from './engine-image.ts';
import {
  decodeWriteBatch,
  encodeFirstManifest,
  encodeLogRecord,
  encodeWriteBatch,
  readLogLeniently,
} from './level-format.ts';
import { ObservableHash } from './observable-hash.ts';

const FIRST_LOG = 3;
const LOG_BYTES_MAX = 64 * 1024 * 1024;
const NAME = /^\d+-\d+$/;

/** Waited for before each batch: LevelDB holds writers back while its compactions lag behind. */
export type Stall = (isFirstPart: boolean) => Promise<void>;

const noStall: Stall = async () => {};

/**
 * One life of a node's engines; `rotateBytes`: a log takes no further batch once it is so long.
 * `unsure`: engines of which a sync failed, in this life or one before: what the system holds of them
 * may never reach the disk.
 */
export function createSimEngines(
  disk: Disk,
  dir: string,
  rotateBytes: number,
  stall = noStall,
  unsure = new Set<string>(),
  largeWrites?: LargeWriteSizes,
): EngineHost {
  return new SimEngineHost(disk, dir, { rotateBytes, stall, largeWrites }, unsure);
}

/** Small parts, for writes of more than `bytes`. */
export function largeFrom(bytes: number): LargeWriteSizes {
  const parts = { partBytes: bytes / 2, redoBytes: bytes / 3 };
  return { operationsMin: 2, bytesMax: bytes, operationsMax: Number.POSITIVE_INFINITY, ...parts };
}

interface Ways {
  readonly rotateBytes: number;
  readonly stall: Stall;
  /** Which writes go in parts; the product's bounds by default. */
  readonly largeWrites: LargeWriteSizes | undefined;
}

class SimEngineHost implements EngineHost {
  readonly #disk: Disk;
  readonly #dir: string;
  readonly #ways: Ways;
  readonly #open = new Map<string, Engine>();
  readonly #unsure: Set<string>;

  constructor(disk: Disk, dir: string, ways: Ways, unsure: Set<string>) {
    this.#disk = disk;
    this.#dir = dir;
    this.#ways = ways;
    this.#unsure = unsure;
  }

  async open(name: string): Promise<{ engine: Engine; report: EngineReport }> {
    checkName(name);
    assert(!this.#open.has(name), `engine ${name} is open already`);
    const path = `${this.#dir}/${name}`;
    const disk = this.#disk;
    const report = await verifyLevelDirectory(disk, path);
    if ((await disk.list(path)).length === 0) await create(disk, path);
    const image = new EngineImage();
    const logs = (await disk.list(path)).filter((file) => file.endsWith('.log')).sort();
    let sequence = 0;
    const hash = new ObservableHash();
    let end = 0;
    for (const log of logs) {
      const bytes = await readFile(disk, `${path}/${log}`, LOG_BYTES_MAX);
      // LevelDB makes a table of every log that it finds, and syncs it: written anew
      if (this.#unsure.has(name)) await replaceFile(disk, `${path}/${log}`, bytes);
      const read = readLogLeniently(bytes);
      end = read.end;
      for (const record of read.records) {
        const batch = decodeWriteBatch(record);
        sequence = batch.sequence + batch.operations.length - 1;
        hash.change((key) => image.peek(key), batch.operations);
        image.apply(batch.operations);
      }
    }
    this.#unsure.delete(name);
    const newest = Number.parseInt(logs.at(-1)!, 10);
    const number = end > 0 ? newest + 1 : newest;
    const file = await beginLog(disk, `${path}/${logName(number)}`);
    await disk.syncDir(path);
    const at = { file, size: 0, number };
    const engine = new SimEngine(disk, path, image, { ...at, sequence, hash }, this.#ways, {
      close: () => this.#open.delete(name),
      syncFailed: () => this.#unsure.add(name),
    });
    this.#open.set(name, engine);
    try {
      await engine.endLargeWrite();
    } catch (error) {
      await engine.close();
      throw error;
    }
    return { engine, report };
  }

  async remove(name: string): Promise<void> {
    checkName(name);
    await this.#open.get(name)?.close();
    await this.#disk.removeTree(`${this.#dir}/${name}`);
    if (await this.#disk.exists(this.#dir)) await this.#disk.syncDir(this.#dir);
  }

  async list(): Promise<string[]> {
    return (await this.#disk.list(this.#dir)).filter((name) => NAME.test(name));
  }

  async verifyTables(): Promise<void> {
    // there are none
  }
}

/** Over what commands can reach in the engine now, whatever way it came to that. */
export function hashOf({ cold }: ReadEngine): number {
  assert(cold instanceof WriteBehindEngine, 'an engine that is written behind');
  const { beneath } = cold;
  assert(beneath instanceof SimEngine, 'an engine of the simulator');
  return beneath.hashAfter(cold.pending());
}

function checkName(name: string): void {
  assert(NAME.test(name), `an engine's name is <replica id>-<generation>, not ${name}`);
}

async function create(disk: Disk, path: string): Promise<void> {
  await disk.makeDir(path);
  const log = await disk.open(`${path}/${logName(FIRST_LOG)}`, 'create');
  await log.close();
  await replaceFile(disk, `${path}/MANIFEST-000002`, encodeFirstManifest(FIRST_LOG));
  await replaceFile(disk, `${path}/CURRENT`, Buffer.from('MANIFEST-000002\n'));
  await disk.syncDir(path.slice(0, path.lastIndexOf('/')));
}

function logName(number: number): string {
  return `${String(number).padStart(6, '0')}.log`;
}

/**
 * The log of a new life. LevelDB never goes on in a log that it has found: what it holds may be
 * synced, and would share a sector with what is not. An empty one is taken as it is.
 */
async function beginLog(disk: Disk, path: string): Promise<DiskFile> {
  if (!(await disk.exists(path))) return disk.open(path, 'create');
  const file = await disk.open(path, 'write');
  await file.truncate(0); // zeros that a loss of power left
  return file;
}

interface Tail {
  file: DiskFile;
  size: number;
  number: number;
  /** Of the last operation written. */
  sequence: number;
  readonly hash: ObservableHash;
}

class SimEngine implements Engine {
  readonly getSync: Engine['getSync'];
  readonly iterate: Engine['iterate'];
  readonly snapshot: Engine['snapshot'];
  readonly approximateBytes: Engine['approximateBytes'];
  readonly #disk: Disk;
  readonly #path: string;
  readonly #image: EngineImage;
  readonly #tail: Tail;
  readonly #ways: Ways;
  readonly #large: LargeWrites;
  /** While a large write is under way: of the state before. */
  #hashBefore: number | undefined;
  #isFirstPart = true;
  readonly #writes: WriteQueue;
  readonly #logs: LevelLogSync;
  readonly #on: { close(): void; syncFailed(): void };
  #closed = false;

  constructor(
    disk: Disk,
    path: string,
    image: EngineImage,
    tail: Tail,
    ways: Ways,
    on: { close(): void; syncFailed(): void },
  ) {
    this.#disk = disk;
    this.#path = path;
    this.#image = image;
    this.#tail = tail;
    this.#ways = ways;
    this.#on = on;
    this.#logs = new LevelLogSync(disk, path);
    const large = new LargeWrites(
      {
        batch: (operations) => this.#append(operations),
        prepare: preparing((operations) => this.#append(operations)),
        stored: image,
        hold: () => image.snapshot(),
        remember: async () => {},
      },
      ways.largeWrites,
    );
    this.#large = large;
    this.getSync = (key) => (large.shown ?? image).getSync(key);
    this.iterate = (range) => (large.ranges ?? image).iterate(range);
    this.snapshot = () => large.snapshot() ?? image.snapshot();
    this.approximateBytes = async () => image.approximateBytes();
    this.#writes = new WriteQueue({
      batch: (operations) =>
        this.#begin(() =>
          large.isLarge(operations) ? this.#writeLarge(operations) : this.#append(operations),
        ),
      clear: (range) => this.#begin(async () => this.#append(await this.#deletes(range))),
    });
  }

  /** Of what readers see once `pending` is written. */
  hashAfter(pending: readonly BatchOperation[]): number {
    // what is pending may be what is being written in parts: whatever of it is there, it comes over it
    if (this.#hashBefore !== undefined && pending.length === 0) {
      const { shown } = this.#large;
      if (shown === undefined) return this.#hashBefore;
      return this.#tail.hash.valueAfter((key) => this.#image.peek(key), [...shown.operations()]);
    }
    return this.#tail.hash.valueAfter((key) => this.#image.peek(key), pending);
  }

  async endLargeWrite(): Promise<void> {
    await endLargeWrite(this.#image, (operations) => this.#append(operations));
  }

  write(operations: BatchOperations): Promise<void> {
    return this.#writes.batch(operations);
  }

  clearRange(range: KeyRange): Promise<void> {
    return this.#writes.clear(range);
  }

  async sync(): Promise<void> {
    await this.#writes.batchAlone(LOG_PADDING);
    try {
      await this.#logs.sync();
    } catch (error) {
      this.#on.syncFailed();
      const text = `${this.#path}: ${messageOf(error)}`;
      throw this.#writes.fail(new KvorumError('DISK_FAILED', text, { cause: error }));
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writes.close();
    await this.#tail.file.close();
    this.#image.close();
    this.#on.close();
  }

  /** When it fails readers go on to see what they saw. */
  async #writeLarge(operations: BatchOperations): Promise<void> {
    this.#hashBefore = this.#tail.hash.value;
    await this.#large.write(operations);
    this.#hashBefore = undefined;
  }

  #begin(write: () => Promise<void>): Promise<void> {
    this.#isFirstPart = true;
    return write();
  }

  async #append(operations: BatchOperations): Promise<void> {
    if (operations.length === 0) return;
    const isFirstPart = this.#isFirstPart;
    this.#isFirstPart = false;
    await this.#ways.stall(isFirstPart);
    const tail = this.#tail;
    if (tail.size >= this.#ways.rotateBytes) await this.#rotate();
    const batch = encodeWriteBatch(tail.sequence + 1, operations);
    const bytes = encodeLogRecord(batch, tail.size);
    await tail.file.pwrite(tail.size, bytes);
    tail.size += bytes.length;
    tail.sequence += operations.length;
    tail.hash.change((key) => this.#image.peek(key), operations);
    this.#image.apply(operations);
  }

  /** LevelDB leaves a log without syncing it, and does not sync the directory for the next. */
  async #rotate(): Promise<void> {
    const tail = this.#tail;
    await tail.file.close();
    tail.number++;
    tail.file = await this.#disk.open(`${this.#path}/${logName(tail.number)}`, 'create');
    tail.size = 0;
  }

  async #deletes(range: KeyRange): Promise<BatchOperation[]> {
    const iterator = this.#image.iterate(range);
    const operations: BatchOperation[] = [];
    for (;;) {
      const pairs = await iterator.next(1_000);
      if (pairs.length === 0) return operations;
      for (const [key] of pairs) operations.push({ type: 'del', key });
    }
  }
}
