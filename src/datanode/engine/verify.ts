/**
 * Verification of a LevelDB directory before LevelDB sees it (decision 7d). LevelDB opens a log
 * with a lost page without an error and skips the batches in it; so its logs are read here and cut
 * at the first bad record or gap in the sequence numbers, later logs with it: what remains is a
 * prefix of the batches. Damage elsewhere (CURRENT, MANIFEST, missing tables) cannot be cut and is
 * CORRUPT, except a last MANIFEST record that is bad, or names a table that is missing: LevelDB
 * syncs the directory and then each record before it acts on it, so such a one was never synced and
 * changes nothing. If it was whole once after all, then without it either a file is missing that it
 * had made superfluous, or everything is there as before it.
 *
 * Every block of every table is read as well: LevelDB, as classic-level opens it, checks no block's
 * checksum. A flip in a key or an index would make a key vanish, which no checksum over the record
 * can show, and a compaction would write the damage into a new table under a right checksum.
 *
 * What makes the sequence check complete: LevelDB numbers every operation, a log begins where the
 * one before it ended, and MANIFEST's last sequence is never behind the first live log's begin.
 * A log named by MANIFEST must exist: its directory entry was synced before MANIFEST named it.
 * (It also relies on us: no compactRange, which may switch logs while one is empty, and no write
 * after a failed one, which leaves a gap.)
 */
import { type Disk, type DiskFile, readFile } from '../../common/disk.ts';
import { codeOf, KvorumError, systemCodeOf } from '../../common/errors.ts';
import { cutFile, removeUnfinishedCut } from './cut-file.ts';
import type { EngineReport } from './engine.ts';
import { hasRecordAfter, type LogEnd, type LogRecord, scanLog } from './level-log.ts';
import { applyEdit, emptyManifest, type ManifestState } from './manifest.ts';
import { checkTable, type Pace, type TableDamage } from './table-check.ts';

const CURRENT_BYTES_MAX = 4_096;
const MANIFEST_RECORD_BYTES_MAX = 256 * 1024 * 1024;
const BATCH_HEADER_BYTES = 12;
const LOG_NAME = /^(\d+)\.log$/;
const TABLE_NAME = /^(\d+)\.(?:ldb|sst)$/;

/** What CURRENT and MANIFEST say, once they have been found sound. */
type SoundManifest = Required<{
  readonly [Key in keyof ManifestState]: NonNullable<ManifestState[Key]>;
}>;

interface FoundManifest {
  readonly manifest: SoundManifest;
  readonly file: string;
  /** Where its last record begins. */
  readonly last: number;
  /** A last record that is to be cut. */
  readonly bad: BadRecord | undefined;
}

interface BadRecord {
  readonly file: string;
  readonly offset: number;
  readonly what: string;
}

interface LiveLog {
  readonly number: number;
  readonly path: string;
}

const unpaced: Pace = () => Promise.resolve();

const nothingCut: EngineReport = { cutBytes: 0, cuts: [] };

/**
 * Verifies the directory `path` and cuts its logs where they are damaged. Nothing to do for a
 * directory that is missing, empty, or holds no data yet (its creation was interrupted).
 * Throws KvorumError CORRUPT naming the file, the offset and what is wrong.
 * The caller must be the only user of the directory.
 */
export async function verifyLevelDirectory(disk: Disk, path: string): Promise<EngineReport> {
  const names = await disk.list(path);
  if (names.length === 0) return nothingCut;
  if (!names.includes('CURRENT')) {
    await clearUnborn(disk, path, names);
    return nothingCut;
  }
  await removeUnfinishedCut(disk, path, names);
  const { manifest, bad } = await readSyncedManifest(disk, path, names);
  await verifyTables(disk, path, names, manifest);
  const logs = await cutLogs(disk, path, names, manifest);
  if (bad === undefined) return logs;
  const cutBytes = await cutFile(disk, bad.file, bad.offset);
  const cut = `${bad.file}:${bad.offset}: ${bad.what}`;
  return { cutBytes: logs.cutBytes + cutBytes, cuts: [cut, ...logs.cuts] };
}

/**
 * Checks every block of the tables below `path`, while LevelDB may be using them. Throws
 * KvorumError CORRUPT naming file and offset. `pace` is awaited before each read.
 */
export async function verifyLevelTables(disk: Disk, path: string, pace: Pace): Promise<void> {
  for (const name of await disk.list(path)) {
    if (!TABLE_NAME.test(name)) continue;
    const file = `${path}/${name}`;
    const damage = await checkUnlessGone(disk, file, pace);
    if (damage === undefined) continue;
    // a table that is still being written, or was thrown away unfinished, is not damaged
    const { manifest } = await readManifest(disk, path, await disk.list(path));
    if (manifest.tables.has(Number.parseInt(name, 10))) {
      throw corrupt(file, damage.offset, damage.what);
    }
  }
}

async function checkUnlessGone(
  disk: Disk,
  file: string,
  pace: Pace,
): Promise<TableDamage | undefined> {
  try {
    return await withFile(disk, file, (opened) => checkTable(opened, pace));
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined; // compacted into others
    throw error;
  }
}

/** Without CURRENT there may be leftovers of a creation, but no data. */
async function clearUnborn(disk: Disk, path: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const isData =
      TABLE_NAME.test(name) ||
      (LOG_NAME.test(name) && (await withFile(disk, `${path}/${name}`, (f) => f.size())) > 0);
    if (isData) throw corrupt(`${path}/CURRENT`, 0, `is missing, but ${name} holds data`);
  }
  await disk.removeTree(path);
}

/** What MANIFEST says, or said before a last record that names a table which is missing. */
async function readSyncedManifest(
  disk: Disk,
  path: string,
  names: readonly string[],
): Promise<FoundManifest> {
  const found = await readManifest(disk, path, names);
  const missing = missingTable(found.manifest, names);
  if (missing === undefined) return found;
  const { file, last: offset, bad } = found;
  if (bad !== undefined) {
    const what = `${bad.what}, and the records before need table ${missing}, which is missing`;
    throw corrupt(file, bad.offset, what);
  }
  try {
    const before = await readManifest(disk, path, names, offset);
    if (missingTable(before.manifest, names) !== undefined) return found;
    return { ...before, bad: { file, offset, what: `names table ${missing}, which is missing` } };
  } catch (error) {
    if (codeOf(error) === 'CORRUPT') return found; // the rest alone says too little
    throw error;
  }
}

function missingTable({ tables }: SoundManifest, names: readonly string[]): number | undefined {
  const present = new Set(names.map((name) => Number(TABLE_NAME.exec(name)?.[1] ?? -1)));
  return [...tables.keys()].find((number) => !present.has(number));
}

/** Records from `end` on are passed over. */
async function readManifest(
  disk: Disk,
  path: string,
  names: readonly string[],
  end = Number.POSITIVE_INFINITY,
): Promise<FoundManifest> {
  const current = await readFile(disk, `${path}/CURRENT`, CURRENT_BYTES_MAX);
  const name = /^(MANIFEST-\d+)\n$/.exec(current.toString('latin1'))?.[1];
  if (name === undefined) throw corrupt(`${path}/CURRENT`, 0, 'does not name a MANIFEST');
  const file = `${path}/${name}`;
  if (!names.includes(name)) throw corrupt(file, 0, 'is named by CURRENT but missing');
  const state = emptyManifest();
  let last = 0;
  const stop = await withFile(disk, file, async (opened) => {
    let refused: string | undefined;
    const found = await scanLog(opened, MANIFEST_RECORD_BYTES_MAX, ({ offset, head }) => {
      if (offset >= end) return undefined;
      last = offset;
      refused = applyEdit(state, head);
      return refused;
    });
    if (found.kind === 'damaged' && (refused ?? (await hasRecordAfter(opened, found.offset)))) {
      throw corrupt(file, found.offset, found.what);
    }
    return found;
  });
  const { logNumber, nextFileNumber, lastSequence, tables } = state;
  if (logNumber === undefined || nextFileNumber === undefined || lastSequence === undefined) {
    throw corrupt(file, 0, 'lacks a log number, file number or sequence number');
  }
  const bad = stop.kind === 'clean' ? undefined : { file, offset: stop.offset, what: stop.what };
  return { manifest: { logNumber, nextFileNumber, lastSequence, tables }, file, last, bad };
}

async function verifyTables(
  disk: Disk,
  path: string,
  names: readonly string[],
  manifest: SoundManifest,
): Promise<void> {
  const present = new Map<number, string>();
  for (const name of names) {
    const number = TABLE_NAME.exec(name)?.[1];
    if (number !== undefined) present.set(Number(number), name);
  }
  for (const [number, bytes] of manifest.tables) {
    const name = present.get(number);
    if (name === undefined) throw corrupt(`${path}/${number}.ldb`, 0, 'table is missing');
    const size = await withFile(disk, `${path}/${name}`, (file) => file.size());
    if (size !== bytes) {
      throw corrupt(`${path}/${name}`, size, `table of ${size} bytes, MANIFEST says ${bytes}`);
    }
    const damage = await withFile(disk, `${path}/${name}`, (file) => checkTable(file, unpaced));
    if (damage !== undefined) throw corrupt(`${path}/${name}`, damage.offset, damage.what);
  }
}

async function cutLogs(
  disk: Disk,
  path: string,
  names: readonly string[],
  manifest: SoundManifest,
): Promise<EngineReport> {
  const logs = liveLogs(path, names, manifest.logNumber);
  const first = logs[0];
  // log number 0 is a new database's, which names no log yet
  if (manifest.logNumber !== 0 && first?.number !== manifest.logNumber) {
    const missing = `${path}/${String(manifest.logNumber).padStart(6, '0')}.log`;
    const later = await removeLogs(disk, logs);
    await disk.syncDir(path);
    return { cutBytes: later.cutBytes, cuts: [`${missing}:0: log is missing`, ...later.cuts] };
  }
  const sequence = new SequenceCheck(manifest.lastSequence);
  for (const [index, log] of logs.entries()) {
    sequence.nextLog(index === 0);
    const end = await withFile(disk, log.path, (file) =>
      scanLog(file, BATCH_HEADER_BYTES, (record) => sequence.check(record)),
    );
    if (end.kind !== 'clean') return cutAt(disk, logs, index, end);
  }
  return nothingCut;
}

function liveLogs(path: string, names: readonly string[], logNumber: number): LiveLog[] {
  const logs: LiveLog[] = [];
  for (const name of names) {
    const number = Number(LOG_NAME.exec(name)?.[1] ?? -1);
    if (number >= logNumber) logs.push({ number, path: `${path}/${name}` });
  }
  return logs.sort((a, b) => a.number - b.number);
}

/** Follows the sequence numbers of batches over all live logs. */
class SequenceCheck {
  readonly #newestFirst: number;
  #expected: number | undefined;
  #previousLogEmpty = false;

  constructor(lastSequence: number) {
    this.#newestFirst = lastSequence + 1;
  }

  nextLog(isFirst: boolean): void {
    this.#previousLogEmpty = !isFirst && this.#expected === undefined;
  }

  check(record: LogRecord): string | undefined {
    if (record.length < BATCH_HEADER_BYTES) return 'record too short for a batch';
    const { head } = record;
    const sequence = head.readUInt32LE(0) + head.readUInt32LE(4) * 2 ** 32;
    if (this.#expected === undefined) {
      if (this.#previousLogEmpty) return 'the log before this one lost its batches';
      if (sequence > this.#newestFirst) {
        return `gap: sequence ${sequence} where at most ${this.#newestFirst} may follow`;
      }
    } else if (sequence !== this.#expected) {
      return `gap: sequence ${sequence} follows ${this.#expected - 1}`;
    }
    this.#expected = sequence + head.readUInt32LE(8);
    return undefined;
  }
}

/** Cuts logs[index] at `end` and removes every later log. */
async function cutAt(
  disk: Disk,
  logs: readonly LiveLog[],
  index: number,
  end: Exclude<LogEnd, { kind: 'clean' }>,
): Promise<EngineReport> {
  const { path: file } = logs[index]!;
  const later = await removeLogs(disk, logs.slice(index + 1));
  const cutBytes = later.cutBytes + (await cutFile(disk, file, end.offset));
  return { cutBytes, cuts: [`${file}:${end.offset}: ${end.what}`, ...later.cuts] };
}

/** The newest goes first: after a crash in between, the rest is found without its end again. */
async function removeLogs(disk: Disk, logs: readonly LiveLog[]): Promise<EngineReport> {
  let cutBytes = 0;
  const cuts: string[] = [];
  for (const log of logs.toReversed()) {
    cutBytes += await withFile(disk, log.path, (file) => file.size());
    cuts.push(`${log.path}:0: follows a cut`);
    await disk.unlink(log.path);
  }
  return { cutBytes, cuts };
}

async function withFile<T>(
  disk: Disk,
  path: string,
  use: (file: DiskFile) => Promise<T>,
): Promise<T> {
  const file = await disk.open(path, 'read');
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

function corrupt(file: string, offset: number, what: string): KvorumError {
  return new KvorumError(
    'CORRUPT',
    `${file}:${offset}: ${what}; this replica cannot be served and must be rebuilt from its peers`,
  );
}
