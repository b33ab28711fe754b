/**
 * Files as they are handed in: node:fs in production (`fs-disk.ts`), a volatile and a durable image
 * in the simulator. What is not synced may be lost, kept or torn by a crash of the operating
 * system; a new or renamed name is durable only after `syncDir` of its directory.
 */
export interface DiskFile {
  readonly path: string;
  size(): Promise<number>;
  /** Up to `length` bytes from `offset`; shorter only at the end of the file. */
  pread(offset: number, length: number): Promise<Buffer>;
  /** As pread, blocking: for small reads of what was written lately (page cache). */
  preadSync(offset: number, length: number): Buffer;
  /** Writes all of `bytes` at `offset`, growing the file as needed. */
  pwrite(offset: number, bytes: Uint8Array): Promise<void>;
  /** As pwrite, and these bytes are durable when it resolves: cheaper than pwrite and fdatasync. */
  pwriteSynced(offset: number, bytes: Uint8Array): Promise<void>;
  /** Makes what was written durable (file size included). */
  fdatasync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

export type OpenMode =
  /** must exist; reads only */
  | 'read'
  /** must exist; reads and writes */
  | 'write'
  /** must not exist */
  | 'create';

export interface Disk {
  /** Errors keep node's `code` (ENOENT, EEXIST, EACCES, ENOSPC, EIO). */
  open(path: string, mode: OpenMode): Promise<DiskFile>;
  rename(from: string, to: string): Promise<void>;
  /** A second name for a file, EEXIST when there is something: EPERM and such where none can be. */
  link(from: string, to: string): Promise<void>;
  unlink(path: string): Promise<void>;
  exists(path: string): Promise<boolean>;
  /** Names in a directory, sorted; empty when it does not exist. */
  list(path: string): Promise<string[]>;
  /** Sizes of all files below a directory, together; about, while they change. */
  bytesBelow(path: string): Promise<number>;
  /** Creates the directory and its parents, durably; no error when it is there. */
  makeDir(path: string): Promise<void>;
  /** Removes a directory or file and all below it; no error when it is not there. */
  removeTree(path: string): Promise<void>;
  syncDir(path: string): Promise<void>;
}

/** Reads a whole file (bounded by `bytesMax`: a larger one is an error naming it). */
export async function readFile(disk: Disk, path: string, bytesMax: number): Promise<Buffer> {
  const file = await disk.open(path, 'read');
  try {
    const size = await file.size();
    if (size > bytesMax) throw new Error(`${path}: ${size} bytes, more than ${bytesMax} allowed`);
    return await file.pread(0, size);
  } finally {
    await file.close();
  }
}

/** Replaces `path` as a whole: temporary file, sync, rename, sync of the directory. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.tmp`;
  await disk.removeTree(temporary);
  const file = await disk.open(temporary, 'create');
  try {
    await file.pwrite(0, bytes);
    await file.fdatasync();
  } finally {
    await file.close();
  }
  await disk.rename(temporary, path);
  await disk.syncDir(directoryOf(path));
}

function directoryOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? (slash === 0 ? '/' : '.') : path.slice(0, slash);
}
