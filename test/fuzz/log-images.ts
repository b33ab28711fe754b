/** The files of a raft log after a random history, with what the log held after each flush. */
import type { Disk } from '../../src/common/disk.ts';
import { codeOf, messageOf } from '../../src/common/errors.ts';
import { silentLogger } from '../../src/common/log.ts';
import { seededRandom } from '../../src/common/random.ts';
import { decodeBatchHeader, SECTOR_BYTES } from '../../src/datanode/raftlog/format.ts';
import type { RaftLog } from '../../src/datanode/raftlog/raft-log.ts';
import { segmentNumberOf } from '../../src/datanode/raftlog/segment.ts';
import { openSharedLog } from '../../src/datanode/raftlog/shared-log.ts';
import { digestOf, entry, LogModel, randomPart } from '../datanode/raftlog/log-model.ts';
import { ManualClock } from '../datanode/raftlog/manual-clock.ts';
import { SimDisk } from '../sim/disk.ts';
import { hold } from './engine/room.ts';

export const LOG_DIR = 'node/log';

export type Files = ReadonlyMap<string, Buffer>;

export interface LogImage {
  readonly seed: number;
  readonly files: Files;
  /** What the log held after each part that was appended, the first with none. */
  readonly digests: readonly string[];
  /** After each flush: the newest batch, and how many parts were in the log. */
  readonly flushes: readonly { readonly seq: number; readonly parts: number }[];
}

export function newDisk(clock: ManualClock): SimDisk {
  return new SimDisk({ random: seededRandom('fuzz'), clock });
}

export function openLog(disk: Disk, clock: ManualClock): Promise<RaftLog> {
  const opening = openSharedLog({
    disk,
    dir: LOG_DIR,
    clock,
    logger: silentLogger,
    segmentBytes: 8 * 1024,
    onFailure: (error) => {
      throw error;
    },
  });
  return clock.until(opening);
}

export async function readFiles(disk: Disk): Promise<Map<string, Buffer>> {
  const files = new Map<string, Buffer>();
  for (const name of await disk.list(LOG_DIR)) {
    const file = await disk.open(`${LOG_DIR}/${name}`, 'read');
    files.set(name, file.preadSync(0, await file.size()));
    await file.close();
  }
  return files;
}

export async function writeFiles(disk: Disk, files: Files): Promise<void> {
  await disk.makeDir(LOG_DIR);
  for (const [name, bytes] of files) {
    const file = await disk.open(`${LOG_DIR}/${name}`, 'create');
    await file.pwrite(0, bytes);
    await file.fdatasync();
    await file.close();
  }
  await disk.syncDir(LOG_DIR);
}

export interface PlacedHeader {
  readonly name: string;
  readonly at: number;
  readonly seq: number;
  readonly durable: number;
}

/** Every sound header that lies where it says. */
export function headersOf(files: Files): PlacedHeader[] {
  const found: PlacedHeader[] = [];
  for (const [name, bytes] of files) {
    for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
      const header = decodeBatchHeader(bytes, at);
      if (header === 'damaged' || 'unknownVersion' in header) continue;
      if (header.offset !== at || header.segment !== segmentNumberOf(name)) continue;
      found.push({ name, at, seq: header.seq, durable: header.durable });
    }
  }
  return found;
}

/** A log that lived through some hundred parts, closed or killed. */
export async function makeImage(seed: number): Promise<LogImage> {
  const random = seededRandom(`log image ${seed}`);
  const clock = new ManualClock();
  const disk = newDisk(clock);
  const log = await openLog(disk, clock);
  const model = new LogModel();
  const digests = [model.digest()];
  const flushes: { seq: number; parts: number }[] = [];
  const parts = 5 + random.below(120);
  for (let part = 1; part <= parts; part++) {
    const next = randomPart(model, random, 2);
    model.apply(next);
    digests.push(model.digest());
    log.append(next, () => {});
    if (random.below(3) > 0 && part < parts) continue;
    await clock.until(log.flush());
    const seq = Math.max(...headersOf(await clock.until(readFiles(disk))).map((one) => one.seq));
    flushes.push({ seq, parts: digests.length - 1 });
  }
  if (digestOf(log) !== digests.at(-1)) throw new Error('the log differs from its model');
  if (random.below(2) === 0) await clock.until(log.close());
  else disk.crash('process');
  clock.clear();
  return { seed, files: await clock.until(readFiles(disk)), digests, flushes };
}

export interface Opened {
  /** What the log held; undefined: it was refused. */
  readonly digest: string | undefined;
  readonly refusal: string;
  readonly files: Files;
}

const refusedAt = new RegExp(`^${LOG_DIR}/\\S+: .*offset \\d+`);

/**
 * Opens a log of these files, and says what became of them. `resealed`: checksums were put right, so
 * an entry, which has one of its own, may be refused only when it is read.
 */
export async function open(files: Files, resealed = false): Promise<Opened> {
  const clock = new ManualClock();
  const disk = newDisk(clock);
  await clock.until(writeFiles(disk, files));
  let log: RaftLog | undefined;
  let digest: string | undefined;
  try {
    log = await openLog(disk, clock);
    digest = digestOf(log);
  } catch (failure) {
    const isRefused = ['CORRUPT', 'TOO_NEW'].includes(codeOf(failure) ?? '');
    if (!isRefused || (log !== undefined && !resealed)) throw failure;
    const refusal = messageOf(failure);
    hold(refusedAt.test(refusal), () => refusal);
    hold(refusal.includes("empty the node's data directory"), () => refusal);
    if (log !== undefined) await clock.until(log.close());
    clock.clear();
    return { digest: undefined, refusal, files: await clock.until(readFiles(disk)) };
  }
  await expectUsable(log, clock, digest);
  return { digest, refusal: '', files: await clock.until(readFiles(disk)) };
}

/** What it opened with can be gone on with. */
async function expectUsable(log: RaftLog, clock: ManualClock, digest: string): Promise<void> {
  const model = LogModel.parse(digest);
  const [first] = model.replicas;
  if (first !== undefined) {
    const [replica, { base, entries }] = first;
    const term = Math.max(base.term, ...entries.map(([own]) => own));
    const part = { replica, entries: [entry(base.index + entries.length + 1, term)] };
    model.apply(part);
    log.append(part, () => {});
    await clock.until(log.flush());
    hold(digestOf(log) === model.digest(), () => 'what was appended is not there');
  }
  await clock.until(log.close());
}

/** How many parts the files themselves prove to have been durable. */
function provenParts(image: LogImage, files: Files): number {
  const durable = Math.max(0, ...headersOf(files).map((header) => header.durable));
  return image.flushes.findLast(({ seq }) => seq <= durable)?.parts ?? 0;
}

/** A whole history up to some point, and no less than the files prove. */
export function expectPrefix(image: LogImage, files: Files, digest: string): void {
  const parts = image.digests.lastIndexOf(digest);
  hold(parts >= 0, () => 'the log holds what it never held');
  hold(parts >= provenParts(image, files), () => 'what was durable is gone');
}
