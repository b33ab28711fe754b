/**
 * Cuts the end off a file of LevelDB's. What stays was synced, and shares a sector with what goes:
 * were the file made shorter in place, a loss of power while that sector is written again could
 * spoil records that the raft log no longer holds. So what stays is copied, and takes the name.
 */
import type { Disk, DiskFile } from '../../common/disk.ts';

const SUFFIX = '.cut';
const CHUNK_BYTES = 1024 * 1024;

/** Keeps the first `size` bytes of `path`, durably; returns how many bytes went. */
export async function cutFile(disk: Disk, path: string, size: number): Promise<number> {
  const copy = `${path}${SUFFIX}`;
  await disk.removeTree(copy);
  const file = await disk.open(path, 'read');
  try {
    const cut = (await file.size()) - size;
    try {
      await copyStart(file, size, await disk.open(copy, 'create'));
      await disk.rename(copy, path);
    } catch (failure) {
      await disk.removeTree(copy).catch(() => {}); // the disk may be full: it takes no room for this
      throw failure;
    }
    await disk.syncDir(path.slice(0, path.lastIndexOf('/')));
    return cut;
  } finally {
    await file.close();
  }
}

/** Removes from the directory `path` the copy of a cut that did not come to its end. */
export async function removeUnfinishedCut(
  disk: Disk,
  path: string,
  names: readonly string[],
): Promise<void> {
  for (const name of names) if (name.endsWith(SUFFIX)) await disk.unlink(`${path}/${name}`);
}

async function copyStart(from: DiskFile, size: number, to: DiskFile): Promise<void> {
  try {
    for (let at = 0; at < size; at += CHUNK_BYTES) {
      await to.pwrite(at, await from.pread(at, Math.min(CHUNK_BYTES, size - at)));
    }
    await to.fdatasync();
  } finally {
    await to.close();
  }
}
