/**
 * Segment files and what is alive in them. A segment is numbered for ever; its file is called by
 * its number. Files are filled with zeros a bounded stretch ahead of the writer, because syncing
 * an overwrite costs half of syncing a growing file (0.09 ms against 0.18 ms).
 */
import { assert, must } from '../../common/assert.ts';
import type { Disk, DiskFile } from '../../common/disk.ts';
import { isFull } from '../../common/disk-remedy.ts';
import { limits } from '../../common/limits.ts';
import { alignToSector } from './format.ts';

const zeros = Buffer.alloc(limits.logZerosChunkBytes);

const NAME_DIGITS = 12;

/** `000000000001.log` */
export function segmentName(number: number): string {
  return `${String(number).padStart(NAME_DIGITS, '0')}.log`;
}

/** The number in a segment's file name, or undefined for any other name. */
export function segmentNumberOf(name: string): number | undefined {
  return /^\d{12}\.log$/.test(name) ? Number(name.slice(0, NAME_DIGITS)) : undefined;
}

/** Where an entry's record lies. */
export interface RecordPlace {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: number;
}

export class Segment {
  readonly number: number;
  readonly path: string;
  /** Undefined until the file exists and is open. */
  file: DiskFile | undefined;
  /** End of the last batch placed in it. */
  position = 0;
  /** End of what is filled with zeros or batches. */
  filled = 0;
  /** Entries that are still somebody's, and their bytes. */
  liveEntries = 0;
  liveBytes = 0;
  /** The batch that let go of the last live entry: durable before the file may go. */
  deadSeq = 0;
  /** The write of zeros in flight and where it begins: a batch that ends behind that waits. */
  filling: { readonly from: number; readonly done: Promise<void> } | undefined;
  #opening: Promise<DiskFile> | undefined;

  constructor(number: number, dir: string) {
    this.number = number;
    this.path = `${dir}/${segmentName(number)}`;
  }

  /**
   * Creates the file, zeros ahead included when `ahead` is positive; the name is durable. What fails
   * may be tried again: the disk may have been mended meanwhile.
   */
  create(disk: Disk, dir: string, ahead: number): Promise<DiskFile> {
    this.#opening ??= this.#create(disk, dir, ahead).catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #create(disk: Disk, dir: string, ahead: number): Promise<DiskFile> {
    const file = await disk.open(this.path, 'create');
    try {
      if (ahead > 0 && (await this.#createZeros(file, ahead))) this.filled = ahead;
      await disk.syncDir(dir);
    } catch (error) {
      // what a failed sync leaves is not to be trusted: the next try begins with a file of its own
      this.filled = 0;
      await file.close().catch(() => {});
      await disk.unlink(this.path).catch(() => {});
      throw error;
    }
    this.file = file;
    return file;
  }

  /** Zeros are a saving, not a need: without room for them the file simply grows when written. */
  async #createZeros(file: DiskFile, ahead: number): Promise<boolean> {
    try {
      for (let at = 0; at < ahead; at += limits.logZerosChunkBytes) {
        await file.pwrite(at, zeros.subarray(0, Math.min(limits.logZerosChunkBytes, ahead - at)));
      }
      await file.fdatasync();
      return true;
    } catch (error) {
      if (isFull(error)) return false;
      throw error;
    }
  }

  get opened(): DiskFile {
    return must(this.file, `segment ${this.number} is open`);
  }
}

/** All segments of a log, oldest first, with the background work that keeps room ahead. */
export class SegmentSet {
  readonly #disk: Disk;
  readonly #dir: string;
  readonly #segmentBytes: number;
  readonly #segments = new Map<number, Segment>();
  /** Background work in flight, at most one fill and one creation; awaited by `settle`. */
  readonly #background = new Set<Promise<void>>();
  readonly #onBackgroundError: (error: unknown) => void;
  #newest = 0;
  #liveBytes = 0;
  /** Until the disk fails at it: then the segment goes on without, and the next one tries again. */
  #fillingAllowed = true;

  constructor(options: {
    readonly disk: Disk;
    readonly dir: string;
    readonly segmentBytes: number;
    onBackgroundError(error: unknown): void;
  }) {
    this.#disk = options.disk;
    this.#dir = options.dir;
    this.#segmentBytes = options.segmentBytes;
    this.#onBackgroundError = options.onBackgroundError;
  }

  get count(): number {
    return this.#segments.size;
  }

  get liveBytes(): number {
    return this.#liveBytes;
  }

  /** Bytes the files take. */
  get bytes(): number {
    let sum = 0;
    for (const segment of this.#segments.values()) {
      sum += Math.max(segment.filled, segment.position);
    }
    return sum;
  }

  get oldest(): Segment | undefined {
    for (const segment of this.#segments.values()) return segment;
    return undefined;
  }

  /** The segment batches are placed in now; a spare made ahead does not count. */
  get newest(): number {
    return this.#newest;
  }

  get(number: number): Segment | undefined {
    return this.#segments.get(number);
  }

  /** Takes over a segment found on opening, or begins the next one; numbers only grow by one. */
  begin(number: number): Segment {
    assert(this.#newest === 0 || number === this.#newest + 1, 'segments follow each other');
    this.#newest = number;
    this.#fillingAllowed = true;
    const segment = this.#segments.get(number) ?? new Segment(number, this.#dir);
    this.#segments.set(number, segment);
    return segment;
  }

  /** Undoes `begin` of the newest segment, which holds nothing. */
  forget(segment: Segment): void {
    assert(segment.number === this.#newest && segment.liveEntries === 0, 'an empty newest segment');
    this.#segments.delete(segment.number);
    this.#newest = this.#segments.size === 0 ? 0 : segment.number - 1;
  }

  /** Recovery failed and closes the files it opened itself. */
  forgetFiles(): void {
    for (const segment of this.#segments.values()) segment.file = undefined;
  }

  /** The file of `segment`, created here if the spare was not ready in time. */
  async writable(segment: Segment): Promise<DiskFile> {
    return segment.file ?? (await segment.create(this.#disk, this.#dir, 0));
  }

  added(number: number, bytes: number): void {
    const segment = must(this.#segments.get(number), `segment ${number} is known`);
    segment.liveEntries++;
    segment.liveBytes += bytes;
    this.#liveBytes += bytes;
  }

  removed(number: number, bytes: number, seq: number): void {
    const segment = must(this.#segments.get(number), `segment ${number} is known`);
    segment.liveEntries--;
    segment.liveBytes -= bytes;
    this.#liveBytes -= bytes;
    assert(segment.liveEntries >= 0, 'no more entries go than came');
    segment.deadSeq = seq;
  }

  /**
   * Keeps zeros ahead of the newest segment's writer and, from half-way on, the next file ready: not
   * before a batch of the newest is durable (`durable` is the segment of the last that is), since
   * recovery allows for no more than one segment without.
   */
  prepareAhead(durable: number): void {
    const segment = this.#segments.get(this.#newest);
    if (segment?.file === undefined || !this.#fillingAllowed) return;
    const ahead = Math.min(limits.logZerosAheadBytes, this.#segmentBytes);
    segment.filled = Math.max(segment.filled, segment.position);
    const goal = Math.min(segment.position + ahead, alignToSector(this.#segmentBytes));
    const half = segment.filled - segment.position < ahead / 2;
    if (segment.filling === undefined && half && goal > segment.filled) this.#fill(segment, goal);
    const next = this.#newest + 1;
    const isBegun = durable === this.#newest;
    if (isBegun && segment.position > this.#segmentBytes / 2 && !this.#segments.has(next)) {
      const spare = new Segment(next, this.#dir);
      this.#segments.set(next, spare);
      const opening = spare.create(this.#disk, this.#dir, alignToSector(ahead));
      this.#run(opening.then(() => {}));
    }
  }

  #fill(segment: Segment, goal: number): void {
    const from = segment.filled;
    const to = Math.min(goal, from + limits.logZerosChunkBytes);
    const write = segment.opened.pwrite(from, zeros.subarray(0, to - from));
    const done = write.finally(() => {
      segment.filling = undefined;
    });
    segment.filling = { from, done };
    segment.filled = to;
    this.#run(done);
  }

  #run(work: Promise<void>): void {
    const done = work
      .catch((error: unknown) => {
        this.#fillingAllowed = false;
        this.#onBackgroundError(error);
      })
      .finally(() => this.#background.delete(done));
    this.#background.add(done);
  }

  /** Removes the oldest segment's file; durable when this resolves, so that no gap can appear. */
  async removeOldest(): Promise<void> {
    const segment = must(this.oldest, 'there is a segment to remove');
    assert(segment.liveEntries === 0, 'nobody needs the segment');
    assert(segment.number < this.#newest, 'the newest segment stays');
    this.#segments.delete(segment.number);
    await segment.file?.close();
    await this.#disk.unlink(segment.path);
    await this.#disk.syncDir(this.#dir);
  }

  /** Waits for background work, then closes every file. */
  async close(): Promise<void> {
    while (this.#background.size > 0) await Promise.all(this.#background);
    for (const segment of this.#segments.values()) await segment.file?.close();
  }
}
