/** A file that is there as a whole or not at all, with its checksums. */
import { createHash } from 'node:crypto';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RunningCrc64 } from '../../datanode/encoding/rdb/crc64.ts';

/** What a file is called until it is whole. */
export const TEMPORARY = '.part';

export class FileWriter {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #sha = createHash('sha256');
  readonly #crc = new RunningCrc64();
  bytes = 0;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Under another name beside `path`; what was there of another attempt goes. */
  static async create(path: string): Promise<FileWriter> {
    await mkdir(dirname(path), { recursive: true });
    return new FileWriter(path, await open(path + TEMPORARY, 'w'));
  }

  async write(bytes: Buffer): Promise<void> {
    this.#sha.update(bytes);
    this.#crc.update(bytes);
    for (let at = 0; at < bytes.length; ) {
      at += (await this.#handle.write(bytes, at)).bytesWritten;
    }
    this.bytes += bytes.length;
  }

  /** Of all that was written, as an RDB file ends with it. */
  crc64(): Buffer {
    return this.#crc.digest();
  }

  /** It is on the disk, under its name; its SHA-256. */
  async finish(): Promise<string> {
    await this.#handle.sync();
    await this.#handle.close();
    await rename(this.#path + TEMPORARY, this.#path);
    await syncDirectory(dirname(this.#path));
    return this.#sha.digest('hex');
  }

  async abandon(): Promise<void> {
    await this.#handle.close().catch(() => {});
    await rm(this.#path + TEMPORARY, { force: true });
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
