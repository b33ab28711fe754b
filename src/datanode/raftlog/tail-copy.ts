/**
 * A copy of the log's last batch, kept while that batch is written again in its place. A loss of
 * power in the middle of that write may spoil sectors which were durable, and acknowledged, before:
 * then the copy is put back. Frozen format, version 1, of the file `tail`:
 *
 *   u32 magic · u32 version · u64 segment · u64 offset · u32 length · bytes · u32 CRC-32 of all that
 */
import { readU64, writeU64 } from '../../common/bytes.ts';
import { crc32 } from '../../common/checksum.ts';
import { type Disk, readFile, replaceFile } from '../../common/disk.ts';
import { limits } from '../../common/limits.ts';
import { damaged, unknownVersion } from './damage.ts';
import { segmentName } from './segment.ts';

const MAGIC = 0x6b76_7463;
const VERSION = 1;
const HEADER_BYTES = 28;
const CRC_BYTES = 4;
/** The largest batch: a part, and before it a checkpoint, which grows with the replicas there were. */
const BYTES_MAX = 2 * limits.logBatchBytesMax;

export interface TailCopy {
  readonly segment: number;
  readonly offset: number;
  readonly bytes: Buffer;
}

const pathOf = (dir: string) => `${dir}/tail`;

/** Durable when it resolves. */
export function saveTailCopy(disk: Disk, dir: string, copy: TailCopy): Promise<void> {
  const file = Buffer.alloc(HEADER_BYTES + copy.bytes.length + CRC_BYTES);
  file.writeUInt32BE(MAGIC, 0);
  file.writeUInt32BE(VERSION, 4);
  writeU64(file, copy.segment, 8);
  writeU64(file, copy.offset, 16);
  file.writeUInt32BE(copy.bytes.length, 24);
  file.set(copy.bytes, HEADER_BYTES);
  const end = HEADER_BYTES + copy.bytes.length;
  file.writeUInt32BE(crc32(file.subarray(0, end)), end);
  return replaceFile(disk, pathOf(dir), file);
}

export async function removeTailCopy(disk: Disk, dir: string): Promise<void> {
  await disk.unlink(pathOf(dir));
  await disk.syncDir(dir);
}

/** Before recovery: puts a copy that was left by an interrupted one back into its segment. */
export async function restoreTail(disk: Disk, dir: string): Promise<void> {
  const path = pathOf(dir);
  if (!(await disk.exists(path))) return;
  const copy = parse(path, await readFile(disk, path, BYTES_MAX));
  const segment = `${dir}/${segmentName(copy.segment)}`;
  if (await disk.exists(segment)) {
    const file = await disk.open(segment, 'write');
    try {
      await file.pwrite(copy.offset, copy.bytes);
      await file.fdatasync();
    } finally {
      await file.close();
    }
  }
  await removeTailCopy(disk, dir);
}

function parse(path: string, file: Buffer): TailCopy {
  const end = file.length - CRC_BYTES;
  if (end < HEADER_BYTES || crc32(file.subarray(0, end)) !== file.readUInt32BE(end)) {
    throw damaged(path, 0, 'its checksum does not match');
  }
  if (file.readUInt32BE(0) !== MAGIC) throw damaged(path, 0, 'it does not begin as a copy does');
  if (file.readUInt32BE(4) !== VERSION) throw unknownVersion(path, 4, file.readUInt32BE(4));
  return {
    segment: readU64(file, 8),
    offset: readU64(file, 16),
    bytes: file.subarray(HEADER_BYTES, end),
  };
}
