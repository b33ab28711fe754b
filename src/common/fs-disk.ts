/** Disk over node:fs. */
import { constants, readSync, write } from 'node:fs';
import {
  access,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
  unlink,
} from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Disk, DiskFile, OpenMode } from './disk.ts';
import { systemCodeOf } from './errors.ts';

const flagsOf = { read: 'r', write: 'r+', create: 'wx+' } as const satisfies Record<
  OpenMode,
  string
>;

export const fsDisk: Disk = {
  async open(path, mode) {
    return new FsFile(path, await open(path, flagsOf[mode]));
  },
  rename,
  link,
  unlink,
  async exists(path) {
    try {
      await access(path);
      return true;
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return false;
      throw error;
    }
  },
  async list(path) {
    try {
      return (await readdir(path)).sort();
    } catch (error) {
      if (systemCodeOf(error) === 'ENOENT') return [];
      throw error;
    }
  },
  bytesBelow: (path) => bytesBelow(path),
  async makeDir(path) {
    const first = await mkdir(path, { recursive: true });
    if (first === undefined) return;
    // a new name is durable once the directory that holds it is synced
    for (let made = resolve(path); ; made = dirname(made)) {
      await syncIfReadable(this, dirname(made));
      if (made === resolve(first)) return;
    }
  },
  removeTree: (path) => rm(path, { recursive: true, force: true }),
  async syncDir(path) {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};

/** What may be written into need not be readable, and only what can be opened can be synced. */
async function syncIfReadable(disk: Disk, path: string): Promise<void> {
  try {
    await disk.syncDir(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'EACCES') throw error;
  }
}

/** One file after the other: it is in no hurry, and others need the disk. */
async function bytesBelow(path: string): Promise<number> {
  let bytes = 0;
  for (const entry of (await unlessRemoved(readdir(path, { withFileTypes: true }))) ?? []) {
    const below = `${path}/${entry.name}`;
    if (entry.isDirectory()) bytes += await bytesBelow(below);
    else bytes += (await unlessRemoved(stat(below)))?.size ?? 0;
  }
  return bytes;
}

/** Undefined of what was removed meanwhile. */
async function unlessRemoved<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

class FsFile implements DiskFile {
  readonly path: string;
  readonly #handle: FileHandle;
  /** The same file, opened so that each write is synced; from the first such write on. */
  #synced: Promise<FileHandle> | undefined;

  constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  async pread(offset: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const read = this.#handle.read(buffer, filled, length - filled, offset + filled);
      const { bytesRead } = await this.#naming(read);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  }

  preadSync(offset: number, length: number): Buffer {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const count = readSync(this.#handle.fd, buffer, filled, length - filled, offset + filled);
      if (count === 0) break;
      filled += count;
    }
    return buffer.subarray(0, filled);
  }

  async pwrite(offset: number, bytes: Uint8Array): Promise<void> {
    await this.#naming(writeAll(this.#handle.fd, offset, bytes));
  }

  /** One system call, so one hop to a thread and back, where write and sync are two each. */
  async pwriteSynced(offset: number, bytes: Uint8Array): Promise<void> {
    this.#synced ??= open(this.path, constants.O_WRONLY | constants.O_DSYNC);
    const { fd } = await this.#synced;
    await this.#naming(writeAll(fd, offset, bytes));
  }

  fdatasync(): Promise<void> {
    return this.#naming(this.#handle.datasync());
  }

  truncate(size: number): Promise<void> {
    return this.#naming(this.#handle.truncate(size));
  }

  /** Of what is open Node.js names no path, and a node has more than one disk. */
  async #naming<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof Error && !('path' in error)) {
        Object.assign(error, { path: this.path, message: `${error.message} '${this.path}'` });
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    // one that could not be opened failed its writes
    const synced = await this.#synced?.catch(() => undefined);
    await synced?.close();
    await this.#handle.close();
  }
}

/** Over callbacks: a FileHandle's promises cost more than the write of a small batch. */
async function writeAll(file: number, offset: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; )
    at += await writeSome(file, offset + at, bytes.subarray(at));
}

function writeSome(file: number, offset: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(file, bytes, 0, bytes.length, offset, (error, count) => {
      if (error) reject(error);
      else resolve(count);
    });
  });
}
