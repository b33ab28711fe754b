/** Disk over node:fs. */
import { readSync } from 'node:fs';
import {
  access,
  type FileHandle,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  unlink,
} from 'node:fs/promises';
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
  async makeDir(path) {
    await mkdir(path, { recursive: true });
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

class FsFile implements DiskFile {
  readonly path: string;
  readonly #handle: FileHandle;

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
      const { bytesRead } = await this.#handle.read(
        buffer,
        filled,
        length - filled,
        offset + filled,
      );
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
    let written = 0;
    while (written < bytes.length) {
      const result = await this.#handle.write(
        bytes,
        written,
        bytes.length - written,
        offset + written,
      );
      written += result.bytesWritten;
    }
  }

  fdatasync(): Promise<void> {
    return this.#handle.datasync();
  }

  truncate(size: number): Promise<void> {
    return this.#handle.truncate(size);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}
