/**
 * Bytes that come faster than they are used, kept on disk in files that are removed as they have been
 * read: what a source sends is taken at once, however long its first picture takes to be imported.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SEGMENT_BYTES = 64 * 1_048_576;
const READ_BYTES = 262_144;

interface Segment {
  readonly path: string;
  readonly file: FileHandle;
  written: number;
  read: number;
}

export class Spool {
  readonly #directory: string;
  readonly #segments: Segment[] = [];
  #made = 0;
  #writing: Promise<void> = Promise.resolve();
  #ended = false;
  #failure: Error | undefined;
  #whenMore: (() => void)[] = [];
  /** Bytes that were given and are not written yet. */
  pending = 0;

  constructor(parent = tmpdir()) {
    this.#directory = mkdtempSync(join(parent, 'kvorum-import-'));
  }

  /** In order; `bytes` is kept until it is written. */
  append(bytes: Buffer): Promise<void> {
    this.pending += bytes.length;
    this.#writing = this.#writing.then(() => this.#write(bytes));
    return this.#writing;
  }

  /** Nothing more comes; `failure`: why, for who reads what there is. */
  end(failure?: Error): void {
    this.#writing = this.#writing.then(() => {
      this.#ended = true;
      this.#failure ??= failure;
      this.#tell();
    });
  }

  /** The next bytes, once there are some; undefined: all has been read. Rejects with `end`'s failure. */
  async read(): Promise<Buffer | undefined> {
    for (;;) {
      const [first] = this.#segments;
      if (first !== undefined && first.read < first.written) return this.#readFrom(first);
      if (first !== undefined && this.#segments.length > 1) {
        this.#segments.shift();
        await first.file.close();
        await unlink(first.path);
        continue;
      }
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#ended) return undefined;
      await new Promise<void>((resolve) => this.#whenMore.push(resolve));
    }
  }

  async remove(): Promise<void> {
    await this.#writing.catch(() => {});
    await Promise.allSettled(this.#segments.map(({ file }) => file.close()));
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #write(bytes: Buffer): Promise<void> {
    try {
      // nothing may follow what is not there
      if (this.#failure === undefined) await this.#writeAll(bytes);
    } catch (failure) {
      this.#failure ??= failure as Error;
    }
    this.pending -= bytes.length;
    this.#tell();
  }

  async #writeAll(bytes: Buffer): Promise<void> {
    const segment = await this.#segment();
    // a disk that becomes full takes a part first, and says so at the next
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await segment.file.write(bytes, at, null, segment.written);
      at += bytesWritten;
      segment.written += bytesWritten;
    }
  }

  async #segment(): Promise<Segment> {
    const last = this.#segments.at(-1);
    if (last !== undefined && last.written < SEGMENT_BYTES) return last;
    const path = join(this.#directory, String(this.#made++));
    const segment = { path, file: await open(path, 'w+'), written: 0, read: 0 };
    this.#segments.push(segment);
    return segment;
  }

  async #readFrom(segment: Segment): Promise<Buffer> {
    const length = Math.min(READ_BYTES, segment.written - segment.read);
    const bytes = Buffer.allocUnsafeSlow(length);
    const { bytesRead } = await segment.file.read(bytes, 0, length, segment.read);
    segment.read += bytesRead;
    return bytes.subarray(0, bytesRead);
  }

  #tell(): void {
    for (const tell of this.#whenMore.splice(0)) tell();
  }
}
