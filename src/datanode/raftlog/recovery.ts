/**
 * Reads the segments back after a stop or crash. Batches follow each other by number without a
 * gap. The first one that is not sound ends the log if nothing says that it was durable: it was
 * being written when the node stopped, and nobody was told of it. A sound header after it that
 * names it, or a later one, as durable makes it damage, and the log does not open.
 */
import { assert } from '../../common/assert.ts';
import { crc32 } from '../../common/checksum.ts';
import type { Disk, DiskFile } from '../../common/disk.ts';
import type { ReplicaId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { Logger } from '../../common/log.ts';
import { damaged, unknownVersion } from './damage.ts';
import {
  alignToSector,
  BATCH_HEADER_BYTES,
  type BatchHeader,
  batchFlags,
  decodeBatchHeader,
  decodeRecords,
  type LogRecord,
  type ReplicaCheckpoint,
  SECTOR_BYTES,
} from './format.ts';
import type { LogState } from './log-state.ts';
import { NOWHERE } from './replica-log.ts';
import { type Segment, type SegmentSet, segmentName, segmentNumberOf } from './segment.ts';
import { removeTailCopy, restoreTail, saveTailCopy } from './tail-copy.ts';

const zeros = Buffer.alloc(limits.logReadBytes);

export interface RecoveryInput {
  readonly disk: Disk;
  readonly dir: string;
  readonly segments: SegmentSet;
  readonly state: LogState;
  readonly logger: Logger;
  /** A batch that was on disk, as another file tells; 0: none is known. */
  readonly knownSeq: number;
}

/** Where the sound part of a segment ends. */
interface SoundEnd {
  /** Offset after the last sound batch. */
  readonly end: number;
  /** The last sound batch; undefined when there is none. */
  readonly last: { readonly offset: number; readonly seq: number } | undefined;
}

/**
 * Replays every segment into `state` and `segments`, cuts the unfinished batch, and makes what it
 * found durable. Returns the number of the last batch, 0 for an empty log (no segment is begun).
 */
export async function recover(input: RecoveryInput): Promise<number> {
  await restoreTail(input.disk, input.dir);
  const numbers = await segmentNumbers(input.disk, input.dir);
  const files: DiskFile[] = [];
  try {
    await openAll(input, numbers, files);
    return await recoverFrom(input, numbers, files);
  } catch (error) {
    input.segments.forgetFiles();
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

async function recoverFrom(
  input: RecoveryInput,
  numbers: readonly number[],
  files: readonly DiskFile[],
): Promise<number> {
  let tail: { readonly segment: Segment; readonly sound: SoundEnd } | undefined;
  let unfinished: Segment | undefined;
  for (const [position, number] of numbers.entries()) {
    const file = files[position]!;
    const header = decodeBatchHeader(await file.pread(0, BATCH_HEADER_BYTES), 0);
    const seq = tail?.sound.last?.seq;
    checkFirstHeader(tail, file, header, number);
    const segment = input.segments.begin(number);
    segment.file = file;
    segment.filled = await file.size();
    const sound = await replaySegment(input, segment, seq === undefined ? undefined : seq + 1);
    if (sound.last === undefined) {
      await checkWithoutBatch({ tail, segment, position, count: numbers.length });
      unfinished = segment;
      break;
    }
    segment.position = sound.end;
    tail = { segment, sound };
  }
  // Every check comes before the first change: a log that is refused stays as it was found.
  const hasBytes = tail !== undefined && (await checkTail(tail.segment, tail.sound));
  if (tail !== undefined) checkNothingMissing(input.state, tail.segment);
  checkReachesKnown(input, tail);
  if (unfinished !== undefined) await dropSegment(input, unfinished);
  if (tail?.sound.last === undefined) return 0;
  if (hasBytes) await cutTail(input, tail.segment, tail.sound.end);
  await writeAgain(input, tail.segment, tail.sound.last.offset, tail.sound.end);
  return tail.sound.last.seq;
}

async function segmentNumbers(disk: Disk, dir: string): Promise<number[]> {
  const numbers: number[] = [];
  for (const name of await disk.list(dir)) {
    const number = segmentNumberOf(name);
    if (number !== undefined) numbers.push(number);
  }
  numbers.sort((a, b) => a - b);
  for (const [i, number] of numbers.entries()) {
    const previous = numbers[i - 1];
    if (previous !== undefined && number !== previous + 1) {
      throw damaged(`${dir}/${segmentName(previous + 1)}`, 0, 'the file is missing');
    }
  }
  return numbers;
}

async function openAll(
  input: RecoveryInput,
  numbers: readonly number[],
  files: DiskFile[],
): Promise<void> {
  for (const number of numbers) {
    files.push(await input.disk.open(`${input.dir}/${segmentName(number)}`, 'write'));
  }
}

/** The first batch of a segment follows the last sound one of the segment before it. */
function checkFirstHeader(
  tail: { readonly segment: Segment; readonly sound: SoundEnd } | undefined,
  file: DiskFile,
  header: ReturnType<typeof decodeBatchHeader>,
  number: number,
): void {
  if (header === 'damaged' || 'unknownVersion' in header) return;
  if (tail?.sound.last === undefined || header.segment !== number || header.offset !== 0) return;
  const expected = tail.sound.last.seq + 1;
  if (header.seq !== expected) {
    throw damaged(
      tail.segment.path,
      tail.sound.end,
      `batch ${expected} is not sound, yet ${file.path} goes on with batch ${header.seq}`,
    );
  }
}

/** Throws unless it is the last segment: made ahead, or its first batch was not finished. */
async function checkWithoutBatch(found: {
  readonly tail: { readonly segment: Segment; readonly sound: SoundEnd } | undefined;
  readonly segment: Segment;
  readonly position: number;
  readonly count: number;
}): Promise<void> {
  const { tail, segment, position, count } = found;
  const lost = (tail?.sound.last?.seq ?? 0) + 1;
  const durable = await newestDurable(segment.opened, segment.number, 0);
  const first = tail === undefined && segment.number > 1;
  if (first || position !== count - 1 || durable.seq >= lost) {
    throw damaged(segment.path, 0, `its first batch is not sound${durable.because}`);
  }
}

async function dropSegment(input: RecoveryInput, segment: Segment): Promise<void> {
  input.segments.forget(segment);
  await segment.opened.close();
  await input.disk.unlink(segment.path);
  await input.disk.syncDir(input.dir);
}

/** Throws when what follows the last sound batch was durable once; says whether there is anything. */
async function checkTail(segment: Segment, { last, end }: SoundEnd): Promise<boolean> {
  assert(last !== undefined, 'the tail has a sound batch');
  const durable = await newestDurable(segment.opened, segment.number, end);
  if (durable.seq > last.seq) {
    throw damaged(segment.path, end, `batch ${last.seq + 1} is not sound${durable.because}`);
  }
  return durable.hasBytes;
}

async function cutTail({ logger }: RecoveryInput, segment: Segment, offset: number) {
  logger.warn('raft log: cut a batch that was not finished', { path: segment.path, offset });
  await segment.opened.truncate(offset);
  segment.filled = offset;
}

/** The last batch may be in the page cache only, or a sync of it may have failed. */
async function writeAgain(
  { disk, dir }: RecoveryInput,
  segment: Segment,
  offset: number,
  end: number,
): Promise<void> {
  const bytes = await segment.opened.pread(offset, end - offset);
  await saveTailCopy(disk, dir, { segment: segment.number, offset, bytes });
  await segment.opened.pwrite(offset, bytes);
  await segment.opened.fdatasync();
  await disk.syncDir(dir);
  await removeTailCopy(disk, dir);
}

function checkNothingMissing(state: LogState, tail: Segment): void {
  for (const replica of state.replicas.values()) {
    for (let index = replica.firstIndex(); index <= replica.lastIndex(); index++) {
      if (!replica.isIn(index, NOWHERE)) continue;
      throw damaged(
        tail.path,
        tail.position,
        `entry ${index} of replica ${replica.replica} is in none of the files: one is missing`,
      );
    }
  }
}

/** Nothing within a log tells that whole batches are gone from its end. */
function checkReachesKnown(
  { knownSeq, dir }: RecoveryInput,
  tail: { readonly segment: Segment; readonly sound: SoundEnd } | undefined,
): void {
  const last = tail?.sound.last?.seq ?? 0;
  if (last >= knownSeq) return;
  throw damaged(
    tail?.segment.path ?? `${dir}/${segmentName(1)}`,
    tail?.sound.end ?? 0,
    `the log ends with batch ${last}, yet this node has noted that batch ${knownSeq} was durable: ` +
      'a file was cut, removed, or replaced by an older copy',
  );
}

/** What the bytes from `start` on say about durability, and whether there are any but zeros. */
async function newestDurable(
  file: DiskFile,
  number: number,
  start: number,
): Promise<{ readonly seq: number; readonly hasBytes: boolean; readonly because: string }> {
  const size = await file.size();
  let [seq, at, because, hasBytes] = [0, 0, '', false];
  let skipTo = start;
  for (let from = start; from < size; from += limits.logReadBytes) {
    const bytes = await file.pread(from, limits.logReadBytes);
    hasBytes ||= !bytes.equals(zeros.subarray(0, bytes.length));
    for (let offset = 0; offset + BATCH_HEADER_BYTES <= bytes.length; offset += SECTOR_BYTES) {
      at = from + offset;
      if (at < skipTo) continue; // inside the payload of a sound header: not ours to interpret
      const header = decodeBatchHeader(bytes, offset);
      if (header === 'damaged') continue;
      if ('unknownVersion' in header) throw unknownVersion(file.path, at, header.unknownVersion);
      if (header.segment !== number || header.offset !== at) continue;
      skipTo = at + alignToSector(BATCH_HEADER_BYTES + header.payloadBytes);
      if (header.durable <= seq) continue;
      seq = header.durable;
      because = `, yet batch ${header.seq} at offset ${at} says that batch ${seq} was durable`;
    }
  }
  return { seq, hasBytes, because };
}

/** Replays sound batches from the segment's start; `expected` is the number of the first. */
async function replaySegment(
  input: RecoveryInput,
  segment: Segment,
  expected: number | undefined,
): Promise<SoundEnd> {
  const reader = new SegmentReader(segment.opened, segment.filled);
  let end = 0;
  let last: SoundEnd['last'];
  for (;;) {
    const next: number | undefined = last === undefined ? expected : last.seq + 1;
    const header = await reader.batch(end, segment.number, next);
    if (header === undefined) return { end, last };
    replayBatch(input.state, segment, reader, header, expected === undefined && end === 0);
    last = { offset: end, seq: header.seq };
    end += alignToSector(BATCH_HEADER_BYTES + header.payloadBytes);
  }
}

function replayBatch(
  state: LogState,
  segment: Segment,
  reader: SegmentReader,
  header: BatchHeader,
  oldest: boolean,
): void {
  const first = header.offset === 0;
  const fail = (at: number, what: string) => damaged(segment.path, header.offset + at, what);
  if (first !== ((header.flags & batchFlags.first) !== 0)) throw fail(0, 'a misplaced batch');
  const end = BATCH_HEADER_BYTES + header.payloadBytes;
  const checkpoint = first ? new CheckpointGatherer() : undefined;
  let gathering = first;
  const from = reader.start + BATCH_HEADER_BYTES;
  const stop = decodeRecords(reader.bytes, from, reader.start + end, (record, at) => {
    if (gathering && checkpoint !== undefined) {
      gathering = checkpoint.take(record);
      if (gathering) return;
      const wrong = checkpoint.finish(state, oldest);
      if (wrong !== undefined) throw fail(0, wrong);
    }
    const offset = header.offset + at - reader.start;
    const wrong = state.replay(record, segment.number, offset);
    if (wrong !== undefined) throw fail(at - reader.start, wrong);
  });
  if (stop !== reader.start + end) throw fail(stop - reader.start, 'a record is not sound');
  if (gathering && checkpoint !== undefined) {
    const wrong = checkpoint.finish(state, oldest);
    if (wrong !== undefined) throw fail(0, wrong);
  }
}

/** Takes the records of a checkpoint until it has as many as the checkpoint's head said. */
class CheckpointGatherer {
  readonly replicas: ReplicaCheckpoint[] = [];
  readonly tombstones: ReplicaId[] = [];
  #head: Extract<LogRecord, { kind: 'checkpoint' }> | undefined;

  get #complete(): boolean {
    return (
      this.#head !== undefined &&
      this.replicas.length === this.#head.replicas &&
      this.tombstones.length === this.#head.tombstones
    );
  }

  /** Takes over or compares what was gathered; returns what is wrong, if anything. */
  finish(state: LogState, oldest: boolean): string | undefined {
    if (!this.#complete) return 'the checkpoint is not complete';
    return state.checkpoint(this.replicas, this.tombstones, oldest);
  }

  /** False: the checkpoint is complete and `record` comes after it. */
  take(record: LogRecord): boolean {
    if (this.#head === undefined) {
      if (record.kind !== 'checkpoint') return false;
      this.#head = record;
      return true;
    }
    if (this.#complete) return false;
    if (record.kind === 'replica') this.replicas.push(record.checkpoint);
    else if (record.kind === 'tombstone') this.tombstones.push(record.replica);
    else return false;
    return true;
  }
}

/** Reads a segment's batches in large pieces. */
class SegmentReader {
  readonly #file: DiskFile;
  readonly #size: number;
  #bytes: Buffer = Buffer.alloc(0);
  #from = 0;
  #start = 0;

  constructor(file: DiskFile, size: number) {
    this.#file = file;
    this.#size = size;
  }

  get bytes(): Buffer {
    return this.#bytes;
  }

  /** Where in `bytes` the batch begins. */
  get start(): number {
    return this.#start;
  }

  /** Header of the sound batch `seq` at `at`, its bytes in `bytes`; undefined if there is none. */
  async batch(
    at: number,
    segment: number,
    seq: number | undefined,
  ): Promise<BatchHeader | undefined> {
    if (!(await this.#load(at, BATCH_HEADER_BYTES))) return undefined;
    const header = decodeBatchHeader(this.#bytes, this.#start);
    if (header === 'damaged') return undefined;
    if ('unknownVersion' in header)
      throw unknownVersion(this.#file.path, at, header.unknownVersion);
    if (header.segment !== segment || header.offset !== at) return undefined;
    if (seq !== undefined && header.seq !== seq) return undefined;
    const bytes = BATCH_HEADER_BYTES + header.payloadBytes;
    if (!(await this.#load(at, bytes))) return undefined;
    const payload = this.#bytes.subarray(this.#start + BATCH_HEADER_BYTES, this.#start + bytes);
    return crc32(payload) === header.payloadCrc ? header : undefined;
  }

  async #load(at: number, count: number): Promise<boolean> {
    if (at + count > this.#size) return false;
    if (at < this.#from || at + count > this.#from + this.#bytes.length) {
      this.#bytes = await this.#file.pread(at, Math.max(count, limits.logReadBytes));
      this.#from = at;
    }
    this.#start = at - this.#from;
    return this.#bytes.length - this.#start >= count;
  }
}
