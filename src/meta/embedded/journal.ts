/**
 * The embedded store's disk: a checksummed log behind a snapshot. Commands appended in a turn are
 * written and synced together; the next batch gathers meanwhile. A torn batch at the end is cut
 * only when nothing says it had been durable; any other damage is CORRUPT with file and offset.
 */
import { assert } from '../../common/assert.ts';
import type { Clock, Timer } from '../../common/clock.ts';
import { type Disk, type DiskFile, replaceFile } from '../../common/disk.ts';
import { diskRemedy } from '../../common/disk-remedy.ts';
import { KvorumError, messageOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import { WriteWatch } from '../../common/write-watch.ts';
import { encodeBatch, encodeSnapshot, LOG_HEADER_BYTES, type LogRecord } from './format.ts';
import {
  corrupt,
  createLog,
  logPath,
  readJournal,
  reopenLog,
  snapshotPath,
} from './journal-recovery.ts';
import type { StateImage } from './state.ts';

export interface JournalOptions {
  readonly disk: Disk;
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** State of a store that has never been. */
  readonly fresh: () => StateImage;
  /** The state now, with every command appended so far. */
  readonly image: () => StateImage;
  /** A batch that takes longer has failed; default limits.logStallMs. */
  readonly stallMs?: number;
  /**
   * Called once, when the disk failed: everything is refused from then on, since the state holds
   * what was not made durable. To be opened anew, which is to end the process.
   */
  onFailure(error: KvorumError): void;
}

interface Waiter {
  resolve(): void;
  reject(error: Error): void;
}

/** How long the log must be idle before a mark says that its last batch was durable. */
const IDLE_MARK_MS = 50;

export class Journal {
  readonly #options: JournalOptions;
  #file: DiskFile;
  #fileNumber: number;
  #size: number;
  #batch: number;
  #durable: number;
  /** The last batch holds commands, and nothing after it says that it is durable. */
  #unmarked: boolean;
  #pending: LogRecord[] = [];
  #pendingBytes = 0;
  #waiters: Waiter[] = [];
  readonly #watch: WriteWatch;
  /** Ends the wait for what is asked of the disk. */
  #giveUp: (why: Error) => void = () => {};
  #flushing: Promise<void> | undefined;
  #failure: KvorumError | undefined;
  #markTimer: Timer | undefined;
  #closed = false;

  private constructor(
    options: JournalOptions,
    file: DiskFile,
    at: {
      readonly fileNumber: number;
      readonly size: number;
      readonly batch: number;
      readonly unmarked: boolean;
    },
  ) {
    this.#options = options;
    this.#file = file;
    this.#fileNumber = at.fileNumber;
    this.#size = at.size;
    this.#batch = at.batch;
    this.#durable = at.batch;
    this.#unmarked = at.unmarked;
    const stallMs = options.stallMs ?? limits.logStallMs;
    this.#watch = new WriteWatch(options.clock, stallMs, (why) => this.#giveUp(why));
    if (at.unmarked) this.#armMark();
  }

  /** Recovers what is on disk. The caller builds its state from image and records, in order. */
  static async open(options: JournalOptions): Promise<{
    readonly journal: Journal;
    readonly image: StateImage;
    readonly records: readonly LogRecord[];
  }> {
    const found = await readJournal(options);
    const path = logPath(options.dir, found.fileNumber);
    if (found.tornBytes > 0) {
      options.logger.warn('metadata log: cut an unfinished batch at its end', {
        file: path,
        offset: found.size,
        bytes: found.tornBytes,
      });
    }
    const file = await reopenLog(options, found);
    const journal = new Journal(options, file, found);
    return { journal, image: found.image, records: found.records };
  }

  /** Whether appended commands are not durable yet. */
  get busy(): boolean {
    return this.#pending.length > 0 || this.#flushing !== undefined;
  }

  /** Throws BUSY or the disk's failure: to be asked before a command changes the state. */
  admit(): void {
    if (this.#failure) throw this.#failure;
    if (this.#closed) throw new KvorumError('STOPPING', 'the metadata store is stopping');
    const full =
      this.#pending.length >= limits.metaWritesWaitingMax ||
      this.#pendingBytes >= limits.metaLogBatchBytesMax ||
      // with those that change nothing, which wait all the same
      this.#waiters.length >= limits.metaWritesWaitingMax + limits.metaReadsWaitingMax;
    if (full)
      throw new KvorumError('BUSY', 'too many metadata writes wait for the disk; try again');
  }

  /** Throws BUSY: to be asked before a read takes what it is answered. */
  admitRead(): void {
    if (this.#waiters.length >= limits.metaReadsWaitingMax)
      throw new KvorumError('BUSY', 'too many metadata reads wait for the disk; try again');
  }

  append(record: LogRecord): void {
    assert(!this.#closed && !this.#failure, 'the journal takes no more');
    this.#pending.push(record);
    this.#pendingBytes += record.payload.length + 5;
    this.#start();
  }

  /** Resolves when everything appended so far is durable. */
  durable(): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure);
    if (!this.busy) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Waits for what was appended, marks it durable and closes the file. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#markTimer?.cancel();
    while (this.#flushing) await this.#flushing;
    if (!this.#failure) await this.#inTime(this.#mark()).catch(() => {});
    await this.#file.close();
  }

  /**
   * For records that cannot be replayed: closes the file as it was found, and returns CORRUPT naming
   * it, `what` and the remedy.
   */
  async refuse(what: string, cause: unknown): Promise<KvorumError> {
    this.#closed = true;
    this.#markTimer?.cancel();
    await this.#file.close();
    return corrupt(this.#file.path, what, cause);
  }

  #start(): void {
    if (this.#flushing) return;
    this.#markTimer?.cancel();
    this.#flushing = this.#flushAll().finally(() => {
      this.#settle();
      if (!this.#flushing && !this.#failure && !this.#closed) this.#armMark();
    });
  }

  async #flushAll(): Promise<void> {
    await new Promise<void>((resolve) => this.#options.clock.endOfTurn(resolve));
    while (this.#pending.length > 0) {
      const records = this.#pending;
      const waiters = this.#waiters;
      this.#pending = [];
      this.#pendingBytes = 0;
      this.#waiters = [];
      try {
        const isFull = this.#size >= limits.metaLogBytes;
        await this.#inTime(isFull ? this.#rotate() : this.#write(records));
      } catch (error) {
        this.#fail(error, waiters);
        return;
      }
      for (const waiter of waiters) waiter.resolve();
    }
  }

  /** What one batch asks of the disk; rejects when that does not answer in time. */
  #inTime(work: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      this.#watch.during(work).then(resolve, reject);
    });
  }

  #fail(error: unknown, waiters: readonly Waiter[]): void {
    const failure = journalFailed(this.#options.dir, error);
    this.#failure = failure;
    for (const waiter of [...waiters, ...this.#waiters]) waiter.reject(failure);
    this.#waiters = [];
    this.#options.onFailure(failure);
  }

  async #write(records: readonly LogRecord[]): Promise<void> {
    const batch = { number: this.#batch + 1, durable: this.#durable, records };
    const bytes = encodeBatch(this.#fileNumber, this.#size, batch);
    await this.#file.pwrite(this.#size, bytes);
    await this.#file.fdatasync();
    this.#size += bytes.length;
    this.#batch = batch.number;
    this.#durable = batch.number;
    this.#unmarked = records.length > 0;
  }

  /** The state, taken in the same step as the pending commands, replaces log and snapshot. */
  async #rotate(): Promise<void> {
    const { disk, dir } = this.#options;
    const image = encodeSnapshot(this.#options.image());
    const next = this.#fileNumber + 1;
    const file = await createLog(disk, dir, next);
    await replaceFile(disk, snapshotPath(dir, next), image);
    await this.#file.close();
    this.#file = file;
    this.#size = LOG_HEADER_BYTES;
    this.#fileNumber = next;
    this.#batch = 0;
    this.#durable = 0;
    this.#unmarked = false;
    await disk.unlink(snapshotPath(dir, next - 1));
    await disk.unlink(logPath(dir, next - 1));
  }

  /** After a flush: goes on with what came meanwhile, or tells who waited that nothing did. */
  #settle(): void {
    this.#flushing = undefined;
    if (this.#failure) return;
    if (this.#pending.length > 0) {
      this.#start();
      return;
    }
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter.resolve();
  }

  #armMark(): void {
    this.#markTimer = this.#options.clock.setTimer(IDLE_MARK_MS, () => {
      if (this.#flushing || this.#closed || this.#failure) return;
      this.#flushing = this.#inTime(this.#mark())
        .catch((error) => this.#fail(error, []))
        .finally(() => this.#settle());
    });
  }

  async #mark(): Promise<void> {
    if (this.#unmarked) await this.#write([]);
  }
}

function journalFailed(dir: string, cause: unknown): KvorumError {
  return new KvorumError(
    'DISK_FAILED',
    `metadata store in ${dir}: writing failed (${messageOf(cause)}): no write is acknowledged any ` +
      `more; ${diskRemedy(cause)}, then start this placedriver again`,
    { cause },
  );
}
