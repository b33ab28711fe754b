/**
 * The node's one log (decision 4). Appends change the state in memory and are encoded at once into
 * the gathering batch; at the end of the turn, or right after the batch in flight, it is written
 * and synced as one. Batches never overlap on disk, and one is durable before the next is written,
 * so at most one batch can be unfinished after a crash. When the log falls idle a mark says that
 * everything before it is durable.
 */
import { must } from '../../common/assert.ts';
import type { Clock } from '../../common/clock.ts';
import type { Disk } from '../../common/disk.ts';
import { KvorumError } from '../../common/errors.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import { LoneTimer } from '../../common/lone-timer.ts';
import { WriteWatch } from '../../common/write-watch.ts';
import type { Entry } from '../raft/message.ts';
import type { Batch } from './batch.ts';
import { BatchQueue } from './batch-queue.ts';
import { diskFailed } from './damage.ts';
import { readEntries } from './entry-reads.ts';
import { LogState } from './log-state.ts';
import { checkPart, encodePart, partBytes, splitPart } from './part.ts';
import type { LogAppend, LogUrgency, RaftLog, RaftLogStats, ReplicaLog } from './raft-log.ts';
import { recover } from './recovery.ts';
import { type RecordPlace, SegmentSet } from './segment.ts';
import { SegmentGc } from './segment-gc.ts';
import { SparedEntries } from './spared-entries.ts';

export interface SharedLogOptions {
  readonly disk: Disk;
  readonly dir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A segment takes no further batch once it is this long. */
  readonly segmentBytes?: number;
  /** Entry data kept in memory of all replicas, each has an equal share; default limits.logCacheBytes. */
  readonly cacheBytes?: number;
  /** A write that takes longer has failed; default limits.logStallMs. */
  readonly stallMs?: number;
  /** Payload of one batch; default limits.logBatchBytesMax. */
  readonly batchBytesMax?: number;
  /** A batch that something beside the log knows to have been on disk: a log without it was cut. */
  readonly knownSeq?: number;
  /** Called when the first batch of a segment is on disk. */
  onSegment?(): void;
  /** Called once, when a write, a sync or a read fails: nothing is reported durable after it. */
  onFailure(error: KvorumError): void;
}

/**
 * Opens the log in `dir`, created if it is not there. Throws KvorumError CORRUPT, naming file,
 * offset and remedy, when bytes that were durable are damaged, and DISK_FAILED or the disk's own
 * error when it cannot be read or written.
 */
export async function openSharedLog(options: SharedLogOptions): Promise<RaftLog> {
  const log = new SharedLog(options);
  try {
    await log.open();
  } catch (error) {
    await log.abandon();
    throw error;
  }
  return log;
}

class SharedLog implements RaftLog {
  readonly #disk: Disk;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #segmentBytes: number;
  readonly #batchBytesMax: number;
  readonly #onFailure: (error: KvorumError) => void;
  readonly #onSegment: () => void;
  readonly #knownSeq: number;
  readonly #segments: SegmentSet;
  readonly #state: LogState;
  readonly #gc: SegmentGc;
  readonly #queue: BatchQueue;
  #turnEnds = false;
  #running: Promise<void> | undefined;
  readonly #idleTimer: LoneTimer;
  /** For what nobody waits for. */
  readonly #laterTimer: LoneTimer;
  /** Replicas whose memory is to be checked when the batch is written. */
  #touched = new Set<ReplicaId>();
  readonly #spared = new SparedEntries((id, spared) => this.#state.replicas.get(id)?.evict(spared));

  #durableSeq = 0;
  #durableContentSeq = 0;
  #durableSegment = 0;
  #written = { segment: 0, offset: 0 };
  #lastIsMark = false;
  #failure: KvorumError | undefined;
  #opened = false;
  #closed = false;
  #ended = false;
  /** Each is one synced write. */
  #batches = 0;
  #writtenBytes = 0;
  readonly #watch: WriteWatch;
  readonly #rejections = new Set<(error: KvorumError) => void>();

  constructor(options: SharedLogOptions) {
    this.#disk = options.disk;
    this.#dir = options.dir;
    this.#clock = options.clock;
    this.#idleTimer = new LoneTimer(options.clock);
    this.#laterTimer = new LoneTimer(options.clock);
    this.#logger = options.logger;
    this.#segmentBytes = options.segmentBytes ?? limits.logSegmentBytes;
    this.#batchBytesMax = options.batchBytesMax ?? limits.logBatchBytesMax;
    this.#onFailure = (error) => options.onFailure(error);
    this.#onSegment = () => options.onSegment?.();
    this.#knownSeq = options.knownSeq ?? 0;
    const onStall = (why: Error) => this.#fail(diskFailed(options.dir, 'writing', why));
    this.#watch = new WriteWatch(options.clock, options.stallMs ?? limits.logStallMs, onStall);
    this.#segments = new SegmentSet({
      disk: options.disk,
      dir: options.dir,
      segmentBytes: this.#segmentBytes,
      onBackgroundError: (error) =>
        this.#logger.warn('raft log: no room ahead', { error: String(error) }),
    });
    const cacheBytes = options.cacheBytes ?? limits.logCacheBytes;
    this.#state = new LogState({
      cacheBytes: () => cacheBytes / this.#state.replicas.size,
      added: (segment, bytes) => this.#segments.added(segment, bytes),
      removed: (segment, bytes) => this.#segments.removed(segment, bytes, this.#queue.lastSeq),
      isWritten: (segment, offset) => this.#isWritten(segment, offset),
      read: (replica, places, from) => this.#read(replica, places, from),
    });
    this.#queue = new BatchQueue({
      segments: this.#segments,
      state: this.#state,
      segmentBytes: this.#segmentBytes,
      batchBytesMax: this.#batchBytesMax,
    });
    this.#gc = this.#createGc();
  }

  async open(): Promise<void> {
    await this.#disk.makeDir(this.#dir);
    const slash = this.#dir.lastIndexOf('/');
    if (slash > 0) await this.#disk.syncDir(this.#dir.slice(0, slash));
    const lastSeq = await recover({
      disk: this.#disk,
      dir: this.#dir,
      segments: this.#segments,
      state: this.#state,
      logger: this.#logger,
      knownSeq: this.#knownSeq,
    });
    this.#queue.startAfter(lastSeq);
    this.#durableSeq = lastSeq;
    const newest = this.#segments.newest;
    this.#durableSegment = newest;
    this.#written = { segment: newest, offset: this.#segments.get(newest)?.position ?? 0 };
    this.#queue.gather();
    this.#startRun();
    await this.flush();
    this.#opened = true;
  }

  /** Lets the files go after opening failed. */
  async abandon(): Promise<void> {
    this.#closed = true;
    await this.#segments.close();
  }

  get durableSeq(): number {
    return this.#durableContentSeq;
  }

  replicas(): readonly ReplicaId[] {
    return [...this.#state.replicas.keys()];
  }

  isTombstone(replica: ReplicaId): boolean {
    return this.#state.tombstones.has(replica);
  }

  replica(id: ReplicaId): ReplicaLog | undefined {
    return this.#state.replicas.get(id);
  }

  /**
   * See RaftLog. Misuse (an unknown replica, a gap, a term or vote going back) throws an
   * AssertionError and a removed replica KvorumError REPLICA_GONE, both before anything changes;
   * a closed log throws STOPPING. After a failure, and while the log closes, parts are ignored.
   */
  append(part: LogAppend, onDurable: () => void, urgency: LogUrgency = 'now'): void {
    if (this.#ended) throw new KvorumError('STOPPING', 'the raft log is closed');
    // what was ignored is no gap: the core goes on from it until it is stopped
    if (this.#failure !== undefined || this.#closed) return;
    checkPart(this.#state, part);
    let batch: Batch | undefined;
    for (const piece of splitPart(this.#state, part, this.#batchBytesMax)) {
      batch = this.#queue.gather(partBytes(piece));
      encodePart(this.#state, batch, piece);
    }
    must(batch, 'a part has a piece').onDurable.push(onDurable);
    this.#touched.add(part.replica);
    this.#flushSoon(urgency);
  }

  flush(): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const last = this.#queue.newest;
    if (last === undefined) return Promise.resolve();
    this.#flushSoon('now');
    return new Promise((resolve, reject) => {
      this.#rejections.add(reject);
      last.onDurable.push(() => {
        this.#rejections.delete(reject);
        resolve();
      });
    });
  }

  stats(): RaftLogStats {
    return {
      segments: this.#segments.count,
      bytes: this.#segments.bytes,
      syncs: this.#batches,
      batches: this.#batches,
      queuedBytes: this.#queue.bytes,
      writtenBytes: this.#writtenBytes,
      syncTime: this.#watch.time,
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelTimers();
    await this.#gc.settle();
    this.#startRun();
    await this.#running;
    if (this.#failure === undefined && !this.#lastIsMark) {
      this.#queue.gather();
      this.#startRun();
      await this.#running;
    }
    this.#ended = true;
    await this.#segments.close();
  }

  #createGc(): SegmentGc {
    return new SegmentGc({
      segments: this.#segments,
      queue: this.#queue,
      segmentBytes: this.#segmentBytes,
      replicas: () => this.#state.replicas.values(),
      durableSeq: () => this.#durableSeq,
      durableSegment: () => this.#durableSegment,
      flush: () => this.flush(),
      nextTurn: () => this.#nextTurn(),
      stopped: () => this.#closed || this.#failure !== undefined,
      failed: (error) => {
        const isTold = error instanceof KvorumError;
        this.#fail(isTold ? error : diskFailed(this.#dir, 'removing an old segment', error));
      },
    });
  }

  #flushSoon(urgency: LogUrgency): void {
    if (this.#turnEnds || this.#running !== undefined) return;
    if (urgency === 'later') {
      this.#laterTimer.ask(limits.logLaterMs, () => this.#startRun());
      return;
    }
    this.#turnEnds = true;
    this.#clock.endOfTurn(() => {
      this.#turnEnds = false;
      this.#startRun();
    });
  }

  #startRun(): void {
    if (this.#running !== undefined || this.#failure !== undefined) return;
    if (this.#queue.isEmpty) return;
    this.#laterTimer.cancel();
    this.#running = this.#run();
  }

  /** Writes batch after batch until nothing waits. */
  async #run(): Promise<void> {
    while (this.#failure === undefined) {
      const batch = this.#queue.take();
      if (batch === undefined || !(await this.#write(batch))) break;
      this.#queue.done();
      for (const run of batch.onDurable) run();
      if (this.#closed) continue;
      this.#segments.prepareAhead(this.#durableSegment);
      this.#gc.kick();
    }
    this.#running = undefined;
    if (!this.#closed && this.#failure === undefined && !this.#lastIsMark) this.#armIdleTimer();
  }

  /** False, after telling onFailure, when the batch could not be made durable. */
  async #write(batch: Batch): Promise<boolean> {
    const segment = must(this.#segments.get(batch.place.segment), 'the segment is known');
    let doing = 'creating the segment';
    const put = async (): Promise<number> => {
      const file = await this.#segments.writable(segment);
      const bytes = await batch.seal(this.#durableSeq, () => this.#nextTurn());
      doing = 'writing';
      const { filling } = segment;
      if (filling !== undefined && batch.end > filling.from) await filling.done.catch(() => {});
      await this.#watch.timed(file.pwriteSynced(batch.place.offset, bytes));
      return bytes.length;
    };
    try {
      const bytes = await this.#watch.during(put());
      segment.filled = Math.max(segment.filled, batch.end);
      this.#written = { segment: batch.place.segment, offset: batch.end };
      for (const run of batch.onWritten) run();
      this.#writtenBytes += bytes;
    } catch (error) {
      this.#fail(diskFailed(segment.path, doing, error));
      return false;
    }
    if (this.#failure !== undefined) return false; // a read failed meanwhile
    this.#batches++;
    this.#durableSeq = batch.place.seq;
    this.#durableSegment = batch.place.segment;
    this.#lastIsMark = batch.isMark;
    if (!batch.isMark) this.#durableContentSeq = batch.place.seq;
    if (batch.place.first) this.#onSegment();
    this.#spared.written(this.#touched, batch.isMark);
    this.#touched = new Set();
    return true;
  }

  #nextTurn(): Promise<void> {
    return new Promise((resolve) => this.#clock.endOfTurn(resolve));
  }

  #armIdleTimer(): void {
    const seen = this.#queue.lastSeq;
    this.#idleTimer.ask(limits.logIdleMs, () => {
      if (this.#closed || this.#failure !== undefined || this.#lastIsMark) return;
      if (this.#queue.lastSeq !== seen || this.#running !== undefined) {
        this.#armIdleTimer();
        return;
      }
      this.#queue.gather();
      this.#startRun();
    });
  }

  #fail(error: KvorumError): KvorumError {
    if (this.#failure !== undefined) return error;
    this.#failure = error;
    this.#cancelTimers();
    this.#logger.error('raft log: failed', { error: error.message });
    const rejections = [...this.#rejections];
    this.#rejections.clear();
    for (const reject of rejections) reject(error);
    if (this.#opened) this.#onFailure(error); // else openSharedLog throws it
    return error;
  }

  #cancelTimers(): void {
    this.#idleTimer.cancel();
    this.#laterTimer.cancel();
  }

  #isWritten(segment: number, offset: number): boolean {
    const written = this.#written;
    return segment < written.segment || (segment === written.segment && offset < written.offset);
  }

  #read(replica: ReplicaId, places: readonly RecordPlace[], from: LogIndex): Entry[] {
    if (this.#ended) throw new KvorumError('STOPPING', 'the raft log is closed');
    try {
      return readEntries(this.#segments, replica, places, from);
    } catch (error) {
      throw error instanceof KvorumError ? this.#fail(error) : error;
    }
  }
}
