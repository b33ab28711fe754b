/** Reads the embedded store's files at start; judges damage, changes nothing that is in use. */
import { type Disk, type DiskFile, readFile, replaceFile } from '../../common/disk.ts';
import { isFull } from '../../common/disk-remedy.ts';
import { isUnusable, KvorumError, messageOf, systemCodeOf } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';
import {
  decodeBatch,
  decodeSnapshot,
  encodeLogHeader,
  encodeSnapshot,
  LOG_HEADER_BYTES,
  type LogRecord,
  logHeaderFault,
  SECTOR_BYTES,
} from './format.ts';
import type { StateImage } from './state.ts';

export interface FoundJournal {
  readonly image: StateImage;
  readonly records: readonly LogRecord[];
  readonly fileNumber: number;
  /** The log up to `size`. */
  readonly log: Buffer;
  /** Where the next batch goes. */
  readonly size: number;
  /** Bytes after it that were never durable. */
  readonly tornBytes: number;
  /** Number of the last batch. */
  readonly batch: number;
  /** The last batch holds commands: no mark follows it. */
  readonly unmarked: boolean;
}

const LOG_BYTES_MAX = limits.metaLogBytes + 2 * limits.metaLogBatchBytesMax;
const SNAPSHOT_BYTES_MAX = 4 * limits.metaDataBytesMax;

export function snapshotPath(dir: string, number: number): string {
  return `${dir}/snapshot-${number}`;
}

export function logPath(dir: string, number: number): string {
  return `${dir}/log-${number}`;
}

interface JournalPlace {
  readonly disk: Disk;
  readonly dir: string;
  readonly fresh: () => StateImage;
}

/** Makes the directory if need be. Throws CORRUPT naming file and offset, BAD_CONFIG if it cannot be used. */
export async function readJournal(options: JournalPlace): Promise<FoundJournal> {
  try {
    return await readFiles(options);
  } catch (cause) {
    if (!isUnusable(cause)) throw cause;
    const { dir } = options;
    const text =
      `${dir} cannot be used (${messageOf(cause)}); let the user that runs this process read and write ` +
      `all of it, restore it from a copy, or move ${dir} away and make it anew from what the datanodes ` +
      'keep: kvorum meta restore --help';
    throw new KvorumError('BAD_CONFIG', text, { cause });
  }
}

async function readFiles(options: JournalPlace): Promise<FoundJournal> {
  const { disk, dir } = options;
  await disk.makeDir(dir);
  const names = await disk.list(dir);
  const fileNumber = Math.max(0, ...numbersOf(names, 'snapshot-'));
  if (fileNumber === 0) {
    await initialize(options, numbersOf(names, 'log-'));
    return readJournalFiles(disk, dir, 1);
  }
  const found = await readJournalFiles(disk, dir, fileNumber);
  // a life before may have ended when these had their names, and the directory was not synced yet
  await disk.syncDir(dir);
  for (const name of names) {
    const number = Number(/^(?:snapshot|log)-(\d+)$/.exec(name)?.[1] ?? fileNumber);
    if (number !== fileNumber || name.endsWith('.tmp')) await disk.removeTree(`${dir}/${name}`);
  }
  return found;
}

function numbersOf(names: readonly string[], prefix: string): number[] {
  return names
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
}

async function initialize(
  { disk, dir, fresh }: { readonly disk: Disk; readonly dir: string; fresh(): StateImage },
  logs: readonly number[],
): Promise<void> {
  for (const number of logs) {
    const path = logPath(dir, number);
    const size = (await readFile(disk, path, LOG_BYTES_MAX)).length;
    if (number > 1 || size > LOG_HEADER_BYTES) {
      throw damaged(snapshotPath(dir, number), 0, 'is missing beside its log');
    }
  }
  await (await createLog(disk, dir, 1)).close();
  await replaceFile(disk, snapshotPath(dir, 1), encodeSnapshot(fresh()));
}

async function readJournalFiles(disk: Disk, dir: string, number: number): Promise<FoundJournal> {
  const path = snapshotPath(dir, number);
  const image = decodeSnapshot(await readFile(disk, path, SNAPSHOT_BYTES_MAX));
  if (typeof image === 'string') throw damaged(path, 0, image);
  return { image, fileNumber: number, ...(await readLog(disk, logPath(dir, number), number)) };
}

async function readLog(disk: Disk, path: string, number: number) {
  const log = await readFile(disk, path, LOG_BYTES_MAX).catch((error: unknown) => {
    throw systemCodeOf(error) === 'ENOENT' ? damaged(path, 0, 'is missing') : error;
  });
  const fault = logHeaderFault(log, number);
  if (fault !== undefined) throw damaged(path, 0, fault);
  const records: LogRecord[] = [];
  let offset = LOG_HEADER_BYTES;
  let batch = 0;
  let unmarked = false;
  while (offset < log.length) {
    const next = decodeBatch(log, number, offset);
    if (next === undefined) break;
    if (next === 'unreadable') throw damaged(path, offset, 'a batch that does not decode');
    if (next.batch.number !== batch + 1) throw damaged(path, offset, 'batches out of order');
    batch = next.batch.number;
    unmarked = next.batch.records.length > 0;
    for (const record of next.batch.records) records.push(record);
    offset = next.end;
  }
  if (hasSoundBatchAfter(log, number, offset)) throw damaged(path, offset, 'a damaged batch');
  const tornBytes = Math.max(0, log.length - offset);
  const sound = log.subarray(0, offset);
  return { records, log: sound, size: offset, tornBytes, batch, unmarked };
}

/**
 * A batch is written only after the one before is durable, so a sound batch (a mark included)
 * behind a bad one says that the bad one was whole once: damage, not a torn write.
 */
function hasSoundBatchAfter(log: Buffer, number: number, offset: number): boolean {
  for (let at = offset + SECTOR_BYTES; at < log.length; at += SECTOR_BYTES) {
    if (decodeBatch(log, number, at) !== undefined) return true;
  }
  return false;
}

function damaged(path: string, offset: number, what: string): KvorumError {
  return corrupt(path, `${what} at offset ${offset}`);
}

/** CORRUPT: what is wrong with the file, and what to do about it. */
export function corrupt(path: string, what: string, cause?: unknown): KvorumError {
  const dir = path.slice(0, path.lastIndexOf('/'));
  return new KvorumError(
    'CORRUPT',
    `${path}: ${what}; restore the metadata directory from a copy, or move ${dir} away and make ` +
      'it anew from what the datanodes keep: kvorum meta restore --help',
    { cause },
  );
}

/**
 * The log that was found, without what was never durable, to be written on. What was read of it must
 * not be lost again once it has been shown, and the sync of its last batch may have failed in a life
 * before: no later sync makes durable what is not written again, and behind such a hole nothing could
 * be read. So all of it is written anew, unless there is no room: what it holds can be read then.
 */
export async function reopenLog(
  { disk, dir }: { readonly disk: Disk; readonly dir: string },
  { fileNumber, log, size }: FoundJournal,
): Promise<DiskFile> {
  const path = logPath(dir, fileNumber);
  try {
    await replaceFile(disk, path, log);
  } catch (failure) {
    if (!isFull(failure)) throw failure;
    await disk.removeTree(`${path}.tmp`);
    await disk.syncDir(dir);
  }
  const file = await disk.open(path, 'write');
  await file.truncate(size);
  await file.fdatasync();
  return file;
}

/** Creates and syncs an empty log; what an interrupted attempt left is replaced. */
export async function createLog(disk: Disk, dir: string, number: number): Promise<DiskFile> {
  const path = logPath(dir, number);
  await disk.removeTree(path);
  const file = await disk.open(path, 'create');
  await file.pwrite(0, encodeLogHeader(number));
  await file.fdatasync();
  await disk.syncDir(dir);
  return file;
}
