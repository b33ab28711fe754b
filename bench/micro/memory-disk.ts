/** A Disk in memory that takes no time: what is measured on it is our own work alone. */
import type { Disk, DiskFile, OpenMode } from '../../src/common/disk.ts';

class MemoryFile implements DiskFile {
  readonly path: string;
  #bytes = Buffer.alloc(0);
  #size = 0;

  constructor(path: string) {
    this.path = path;
  }

  get length(): number {
    return this.#size;
  }

  async size(): Promise<number> {
    return this.#size;
  }

  async pread(offset: number, length: number): Promise<Buffer> {
    return this.preadSync(offset, length);
  }

  preadSync(offset: number, length: number): Buffer {
    return Buffer.from(this.#bytes.subarray(offset, Math.min(this.#size, offset + length)));
  }

  async pwrite(offset: number, bytes: Uint8Array): Promise<void> {
    this.#grow(offset + bytes.length);
    this.#bytes.set(bytes, offset);
  }

  pwriteSynced(offset: number, bytes: Uint8Array): Promise<void> {
    return this.pwrite(offset, bytes);
  }

  async fdatasync(): Promise<void> {}

  async truncate(size: number): Promise<void> {
    if (size < this.#size) this.#bytes.fill(0, size, this.#size);
    this.#grow(size);
    this.#size = size;
  }

  async close(): Promise<void> {}

  #grow(size: number): void {
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(size, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    this.#size = Math.max(this.#size, size);
  }
}

function missing(path: string, code: 'ENOENT' | 'EEXIST'): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}

export function createMemoryDisk(): Disk {
  const files = new Map<string, MemoryFile>();
  const below = (path: string) => [...files.keys()].filter((name) => name.startsWith(`${path}/`));
  return {
    async open(path: string, mode: OpenMode) {
      const found = files.get(path);
      if (mode === 'create' ? found !== undefined : found === undefined) {
        throw missing(path, mode === 'create' ? 'EEXIST' : 'ENOENT');
      }
      const file = found ?? new MemoryFile(path);
      files.set(path, file);
      return file;
    },
    async rename(from, to) {
      const file = files.get(from);
      if (file === undefined) throw missing(from, 'ENOENT');
      files.delete(from);
      files.set(to, file);
    },
    async link(from, to) {
      const file = files.get(from);
      if (file === undefined) throw missing(from, 'ENOENT');
      if (files.has(to)) throw missing(to, 'EEXIST');
      files.set(to, file);
    },
    async unlink(path) {
      if (!files.delete(path)) throw missing(path, 'ENOENT');
    },
    exists: async (path) => files.has(path),
    list: async (path) =>
      below(path)
        .map((name) => name.slice(path.length + 1))
        .sort(),
    bytesBelow: async (path) => below(path).reduce((sum, name) => sum + files.get(name)!.length, 0),
    makeDir: async () => {},
    async removeTree(path) {
      for (const name of [path, ...below(path)]) files.delete(name);
    },
    syncDir: async () => {},
  };
}
