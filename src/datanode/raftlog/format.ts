/**
 * What the raft log writes: the file of record. Numbers here are frozen; a change needs a new
 * FORMAT_VERSION. Big-endian. A segment file is a run of batches, each starting at a multiple of
 * SECTOR_BYTES, so that a write cut short by a crash never touches a sector of an older batch.
 * What follows the last batch is zeros, or pieces of a batch that was not finished.
 *
 *   batch   magic u32 | version u8 | flags u8 | 0 u16 | segment u64 | seq u64 | durable u64 |
 *           offset u32 | payload bytes u32 | payload crc u32 | header crc u32 | payload | zeros
 *   payload records one after the other, each: kind u8 | replica u64 | its fields
 *
 * `seq` numbers the batches of the whole log without gaps; `durable` is the newest batch known to
 * be on disk when this one was written. `segment` and `offset` are the batch's own address: bytes
 * of a former life of the file, or written to the wrong place, never pass. The header's layout and
 * its checksum are the same in every version, so that a newer version is recognised as one.
 */
import { assert, unreachable } from '../../common/assert.ts';
import { readU64, writeU64 } from '../../common/bytes.ts';
import { crc32, crc32Within } from '../../common/checksum.ts';
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import type { Entry, EntryKind, HardState } from '../raft/message.ts';

export const SECTOR_BYTES = 512;
const BATCH_MAGIC = 0x4b56_4c42; // "KVLB"
const FORMAT_VERSION = 1;
export const BATCH_HEADER_BYTES = 48;
/** The upper half of a u64 below 2^53. */
const U64_HIGH_MAX = 0x1f_ffff;

export const batchFlags = {
  /** The first batch of a segment: its payload begins with the checkpoint of the whole log. */
  first: 1,
  /** No payload: says that every batch before it is durable. */
  mark: 2,
} as const;

const recordKinds = {
  entry: 1,
  hardState: 2,
  reset: 3,
  compact: 4,
  truncate: 5,
  tombstone: 6,
  replica: 7,
  /** An entry as it is, copied out of an old segment: only its place changes. */
  moved: 8,
  checkpoint: 9,
} as const;

const entryKinds = { normal: 0, confChange: 1, confChangeV2: 2 } as const satisfies Record<
  EntryKind,
  number
>;
const entryKindOf: readonly EntryKind[] = ['normal', 'confChange', 'confChangeV2'];

/** kind, replica, index, term, entry kind, data bytes, crc; the data follows. */
export const ENTRY_HEADER_BYTES = 34;
export const HARD_STATE_BYTES = 33;
export const RESET_BYTES = 33;
export const COMPACT_BYTES = 25;
export const TRUNCATE_BYTES = 17;
export const TOMBSTONE_BYTES = 9;
export const REPLICA_BYTES = 73;
export const CHECKPOINT_BYTES = 9;

export interface BatchHeader {
  readonly flags: number;
  readonly segment: number;
  readonly seq: number;
  readonly durable: number;
  readonly offset: number;
  readonly payloadBytes: number;
  readonly payloadCrc: number;
}

/** A replica as a checkpoint has it; its entries (base.index, lastIndex] may lie in older files. */
export interface ReplicaCheckpoint {
  readonly replica: ReplicaId;
  readonly hardState: HardState;
  readonly baseIndex: LogIndex;
  readonly baseTerm: Term;
  /** First index the log holds or would hold: baseIndex + 1. */
  readonly firstIndex: LogIndex;
  readonly lastIndex: LogIndex;
  readonly generation: number;
}

export interface EntryRecord {
  readonly kind: 'entry' | 'moved';
  readonly replica: ReplicaId;
  /** Its data is a view of the bytes it was decoded from. */
  readonly entry: Entry;
}

export type LogRecord =
  | EntryRecord
  | { readonly kind: 'hardState'; readonly replica: ReplicaId; readonly hardState: HardState }
  | {
      readonly kind: 'reset';
      readonly replica: ReplicaId;
      readonly baseIndex: LogIndex;
      readonly baseTerm: Term;
      readonly generation: number;
    }
  | {
      readonly kind: 'compact';
      readonly replica: ReplicaId;
      readonly baseIndex: LogIndex;
      readonly baseTerm: Term;
    }
  | { readonly kind: 'truncate'; readonly replica: ReplicaId; readonly lastIndex: LogIndex }
  | { readonly kind: 'tombstone'; readonly replica: ReplicaId }
  | { readonly kind: 'replica'; readonly checkpoint: ReplicaCheckpoint }
  | { readonly kind: 'checkpoint'; readonly replicas: number; readonly tombstones: number };

/** `bytes` rounded up to whole sectors. */
export function alignToSector(bytes: number): number {
  return Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES;
}

/** Writes the header of the batch that fills `batch`; the payload must be in place. */
export function encodeBatchHeader(batch: Buffer, header: BatchHeader): void {
  const end = BATCH_HEADER_BYTES + header.payloadBytes;
  assert(end <= batch.length, 'the payload lies within the batch');
  assert(header.durable < header.seq, 'a batch is not durable before it is written');
  batch.writeUInt32BE(BATCH_MAGIC, 0);
  batch.writeUInt8(FORMAT_VERSION, 4);
  batch.writeUInt8(header.flags, 5);
  batch.writeUInt16BE(0, 6);
  writeU64(batch, header.segment, 8);
  writeU64(batch, header.seq, 16);
  writeU64(batch, header.durable, 24);
  batch.writeUInt32BE(header.offset, 32);
  batch.writeUInt32BE(header.payloadBytes, 36);
  batch.writeUInt32BE(header.payloadCrc, 40);
  batch.writeUInt32BE(crc32Within(batch, 0, 44), 44);
}

/** A sound header, `damaged` (or none at all), or the version this code does not know. */
export function decodeBatchHeader(
  bytes: Buffer,
  at: number,
): BatchHeader | 'damaged' | { readonly unknownVersion: number } {
  if (bytes.length - at < BATCH_HEADER_BYTES) return 'damaged';
  if (bytes.readUInt32BE(at) !== BATCH_MAGIC) return 'damaged';
  if (crc32Within(bytes, at, at + 44) !== bytes.readUInt32BE(at + 44)) return 'damaged';
  const version = bytes.readUInt8(at + 4);
  if (version !== FORMAT_VERSION) return { unknownVersion: version };
  if (!areSafe(bytes, at + 8, 3)) return 'damaged';
  return {
    flags: bytes.readUInt8(at + 5),
    segment: readU64(bytes, at + 8),
    seq: readU64(bytes, at + 16),
    durable: readU64(bytes, at + 24),
    offset: bytes.readUInt32BE(at + 32),
    payloadBytes: bytes.readUInt32BE(at + 36),
    payloadCrc: bytes.readUInt32BE(at + 40),
  };
}

/**
 * Writes one entry record at `at`; returns its end. The record's own checksum starts from the
 * segment's number and lets a single entry be read back without its batch.
 */
export function encodeEntry(
  target: Buffer,
  at: number,
  kind: 'entry' | 'moved',
  segment: number,
  replica: ReplicaId,
  entry: Entry,
): number {
  const end = encodeEntryHead(target, at, kind, replica, entry);
  target.set(entry.data, at + ENTRY_HEADER_BYTES);
  endEntry(target, at, crc32(entry.data, entryHeadCrc(target, at, segment)));
  return end;
}

/** The beginning of `encodeEntry`: data and checksum are yet to be written. */
export function encodeEntryHead(
  target: Buffer,
  at: number,
  kind: 'entry' | 'moved',
  replica: ReplicaId,
  entry: Entry,
): number {
  target.writeUInt8(recordKinds[kind], at);
  writeU64(target, replica, at + 1);
  writeU64(target, entry.index, at + 9);
  writeU64(target, entry.term, at + 17);
  target.writeUInt8(entryKinds[entry.kind], at + 25);
  target.writeUInt32BE(entry.data.length, at + 26);
  return at + ENTRY_HEADER_BYTES + entry.data.length;
}

/** What the checksum of an entry record begins with; it goes on over the data. */
export function entryHeadCrc(target: Buffer, at: number, segment: number): number {
  return crc32Within(target, at, at + 30, segment % 0x1_0000_0000);
}

/** The end of `encodeEntry`: `crc` as `entryHeadCrc`, continued over the data. */
export function endEntry(target: Buffer, at: number, crc: number): void {
  target.writeUInt32BE(crc, at + 30);
}

/** The entry record at `at`, read without its batch; undefined when it is not sound. */
export function decodeEntry(bytes: Buffer, at: number, segment: number): EntryRecord | undefined {
  if (bytes.length - at < ENTRY_HEADER_BYTES) return undefined;
  const end = at + ENTRY_HEADER_BYTES + bytes.readUInt32BE(at + 26);
  if (end > bytes.length) return undefined;
  if (entryCrc(bytes, at, end, segment) !== bytes.readUInt32BE(at + 30)) return undefined;
  return decodeEntryOfBatch(bytes, at);
}

/** As decodeEntry, where the batch's own checksum vouches for the bytes. */
function decodeEntryOfBatch(bytes: Buffer, at: number): EntryRecord | undefined {
  if (bytes.length - at < ENTRY_HEADER_BYTES) return undefined;
  const end = at + ENTRY_HEADER_BYTES + bytes.readUInt32BE(at + 26);
  if (end > bytes.length) return undefined;
  const kind = bytes.readUInt8(at);
  if (kind !== recordKinds.entry && kind !== recordKinds.moved) return undefined;
  const entryKind = entryKindOf[bytes.readUInt8(at + 25)];
  if (entryKind === undefined || !areSafe(bytes, at + 1, 3)) return undefined;
  return {
    kind: kind === recordKinds.entry ? 'entry' : 'moved',
    replica: readU64(bytes, at + 1),
    entry: {
      term: readU64(bytes, at + 17),
      index: readU64(bytes, at + 9),
      kind: entryKind,
      data: bytes.subarray(at + ENTRY_HEADER_BYTES, end),
    },
  };
}

function entryCrc(bytes: Buffer, at: number, end: number, segment: number): number {
  return crc32Within(bytes, at + ENTRY_HEADER_BYTES, end, entryHeadCrc(bytes, at, segment));
}

/** Whether `count` u64 from `at` on are numbers here: who writes others is no kvorum. */
function areSafe(bytes: Buffer, at: number, count: number): boolean {
  for (let field = 0; field < count; field++) {
    if (bytes.readUInt32BE(at + 8 * field) > U64_HIGH_MAX) return false;
  }
  return true;
}

/** A record whose fields after the kind are all u64. */
function encodeNumbers(target: Buffer, at: number, kind: number, fields: readonly number[]) {
  let end = target.writeUInt8(kind, at);
  for (const field of fields) {
    writeU64(target, field, end);
    end += 8;
  }
  return end;
}

/** Writes any record but an entry at `at`; returns its end. */
export function encodeRecord(
  target: Buffer,
  at: number,
  record: Exclude<LogRecord, EntryRecord>,
): number {
  const kind = recordKinds[record.kind];
  switch (record.kind) {
    case 'hardState': {
      const { term, vote, commit } = record.hardState;
      return encodeNumbers(target, at, kind, [record.replica, term, vote, commit]);
    }
    case 'reset': {
      const { replica, baseIndex, baseTerm, generation } = record;
      return encodeNumbers(target, at, kind, [replica, baseIndex, baseTerm, generation]);
    }
    case 'compact':
      return encodeNumbers(target, at, kind, [record.replica, record.baseIndex, record.baseTerm]);
    case 'truncate':
      return encodeNumbers(target, at, kind, [record.replica, record.lastIndex]);
    case 'tombstone':
      return encodeNumbers(target, at, kind, [record.replica]);
    case 'replica': {
      const { replica, hardState, baseIndex, baseTerm, firstIndex, lastIndex, generation } =
        record.checkpoint;
      const { term, vote, commit } = hardState;
      return encodeNumbers(target, at, kind, [
        ...[replica, term, vote, commit],
        ...[baseIndex, baseTerm, firstIndex, lastIndex, generation],
      ]);
    }
    case 'checkpoint':
      target.writeUInt8(kind, at);
      target.writeUInt32BE(record.replicas, at + 1);
      return target.writeUInt32BE(record.tombstones, at + 5);
    default:
      return unreachable(record);
  }
}

/**
 * Calls `visit` with every record of `bytes` from `start` to `end`, a payload whose checksum was
 * found right, and the record's offset in `bytes`. Returns the offset of the first record that is
 * not one, or `end`.
 */
export function decodeRecords(
  bytes: Buffer,
  start: number,
  end: number,
  visit: (record: LogRecord, at: number) => void,
): number {
  const payload = bytes.subarray(0, end);
  let at = start;
  while (at < end) {
    const kind = bytes.readUInt8(at);
    if (kind === recordKinds.entry || kind === recordKinds.moved) {
      const record = decodeEntryOfBatch(payload, at);
      if (record === undefined) return at;
      visit(record, at);
      at += ENTRY_HEADER_BYTES + record.entry.data.length;
    } else {
      const size = plainRecordBytes[kind];
      if (size === undefined || at + size > end) return at;
      if (kind !== recordKinds.checkpoint && !areSafe(bytes, at + 1, (size - 1) / 8)) return at;
      visit(decodePlainRecord(bytes, at, kind), at);
      at += size;
    }
  }
  return end;
}

const plainRecordBytes: Readonly<Record<number, number>> = {
  [recordKinds.hardState]: HARD_STATE_BYTES,
  [recordKinds.reset]: RESET_BYTES,
  [recordKinds.compact]: COMPACT_BYTES,
  [recordKinds.truncate]: TRUNCATE_BYTES,
  [recordKinds.tombstone]: TOMBSTONE_BYTES,
  [recordKinds.replica]: REPLICA_BYTES,
  [recordKinds.checkpoint]: CHECKPOINT_BYTES,
};

function decodePlainRecord(bytes: Buffer, at: number, kind: number): LogRecord {
  const field = (n: number) => readU64(bytes, at + 1 + 8 * n);
  const hardState = () => ({ term: field(1), vote: field(2), commit: field(3) });
  if (kind === recordKinds.checkpoint) {
    const replicas = bytes.readUInt32BE(at + 1);
    return { kind: 'checkpoint', replicas, tombstones: bytes.readUInt32BE(at + 5) };
  }
  const replica = field(0);
  switch (kind) {
    case recordKinds.hardState:
      return { kind: 'hardState', replica, hardState: hardState() };
    case recordKinds.reset: {
      const [baseIndex, baseTerm, generation] = [field(1), field(2), field(3)];
      return { kind: 'reset', replica, baseIndex, baseTerm, generation };
    }
    case recordKinds.compact:
      return { kind: 'compact', replica, baseIndex: field(1), baseTerm: field(2) };
    case recordKinds.truncate:
      return { kind: 'truncate', replica, lastIndex: field(1) };
    case recordKinds.tombstone:
      return { kind: 'tombstone', replica };
    default: {
      assert(kind === recordKinds.replica, () => `no record has kind ${kind}`);
      const [baseIndex, baseTerm, firstIndex] = [field(4), field(5), field(6)];
      const place = { baseIndex, baseTerm, firstIndex, lastIndex: field(7) };
      const checkpoint = { replica, hardState: hardState(), ...place, generation: field(8) };
      return { kind: 'replica', checkpoint };
    }
  }
}
