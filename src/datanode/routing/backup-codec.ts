/**
 * Backups of partitions between nodes: bodies of the transport's request channel. A node of an older
 * build answers BAD_FRAME. Frozen format, version 1:
 *
 *   question  u8 0x42 · u8 version · u8 kind
 *             · 1 open: text namespace, u32 partition, u64 group
 *             · 2 page: text id, u64 offset
 *             · 3 close: text id
 *             · 4 open, with libraries of functions: as open
 *   answer    u8 version
 *             · open: text id, u64 index, u64 term, u64 time, u64 keys, u64 expires, u64 bytes, u8 RDB version,
 *               u32 libraries if they were asked for
 *             · page: u8 whether it is the last, u64 keys, u64 expires, u32 CRC-32, the bytes
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { decodeFrame } from '../../common/decode.ts';
import type { GroupId, Namespace, PartitionId } from '../../common/ids.ts';
import type { BackupPage, BackupState } from '../partition/backups/held-backup.ts';
import { requestTags } from '../transport/request-tags.ts';

export type BackupQuestion =
  | {
      readonly kind: 'open';
      readonly namespace: Namespace;
      readonly partition: PartitionId;
      readonly group: GroupId;
      readonly withLibraries: boolean;
    }
  | { readonly kind: 'page'; readonly id: string; readonly offset: number }
  | { readonly kind: 'close'; readonly id: string };

/** What both ends know of a state beside the question. */
export type OpenedState = Omit<BackupState, 'partition' | 'group'>;

const VERSION = 1;
const kinds = { open: 1, page: 2, close: 3, openWithLibraries: 4 } as const;

export function isBackupQuestion(body: Buffer): boolean {
  return body[0] === requestTags.backup;
}

export function encodeBackupQuestion(question: BackupQuestion): Buffer {
  const withLibraries = question.kind === 'open' && question.withLibraries;
  const kind = withLibraries ? kinds.openWithLibraries : kinds[question.kind];
  const writer = new ByteWriter(64).u8(requestTags.backup).u8(VERSION).u8(kind);
  if (question.kind === 'open') {
    const { namespace, partition, group } = question;
    return writer.text(namespace).u32(partition).u64(group).finish();
  }
  writer.text(question.id);
  return (question.kind === 'page' ? writer.u64(question.offset) : writer).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeBackupQuestion(body: Buffer): BackupQuestion {
  return decodeFrame('question about a backup', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const question = readQuestion(reader, reader.u8());
    reader.end();
    return question;
  });
}

function readQuestion(reader: ByteReader, kind: number): BackupQuestion {
  switch (kind) {
    case kinds.open:
    case kinds.openWithLibraries: {
      const [namespace, partition, group] = [reader.text(), reader.u32(), reader.u64()];
      const withLibraries = kind === kinds.openWithLibraries;
      return { kind: 'open', namespace, partition, group, withLibraries };
    }
    case kinds.page:
      return { kind: 'page', id: reader.text(), offset: reader.u64() };
    case kinds.close:
      return { kind: 'close', id: reader.text() };
  }
  throw new ByteRangeError(`kind ${kind} unknown`);
}

export function encodeOpenedState(state: OpenedState): Buffer {
  const writer = new ByteWriter(128)
    .u8(VERSION)
    .text(state.id)
    .u64(state.index)
    .u64(state.term)
    .u64(state.timeMs)
    .u64(state.keys)
    .u64(state.expires)
    .u64(state.approximateBytes)
    .u8(state.rdbVersion);
  return (state.libraries === undefined ? writer : writer.u32(state.libraries)).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeOpenedState(body: Buffer): OpenedState {
  return decodeFrame('state of a backup', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const id = reader.text();
    const [index, term, timeMs] = [reader.u64(), reader.u64(), reader.u64()];
    const [keys, expires] = [reader.u64(), reader.u64()];
    const [approximateBytes, rdbVersion] = [reader.u64(), reader.u8()];
    const libraries = reader.remaining > 0 ? reader.u32() : undefined;
    reader.end();
    const counts = { keys, expires, approximateBytes, rdbVersion };
    return { id, index, term, timeMs, ...counts, ...(libraries !== undefined && { libraries }) };
  });
}

export function encodeBackupPage({ bytes, isLast, keys, expires, crc }: BackupPage): Buffer {
  const writer = new ByteWriter(bytes.length + 32).u8(VERSION).u8(isLast ? 1 : 0);
  return writer.u64(keys).u64(expires).u32(crc).raw(bytes).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeBackupPage(body: Buffer): BackupPage {
  return decodeFrame('page of a backup', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const isLast = reader.u8() === 1;
    const [keys, expires, crc] = [reader.u64(), reader.u64(), reader.u32()];
    return { bytes: reader.raw(reader.remaining), isLast, keys, expires, crc };
  });
}
