/**
 * The bytes of a file as they come: what has not been read yet lies here in one piece, as far as
 * whoever reads has asked for it. What has been read is summed up and forgotten.
 */
import { RunningCrc64 } from '../../../datanode/encoding/rdb/crc64.ts';

export class ByteWindow {
  /** Unread bytes in one piece, from `#at` on. */
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  /** Came after these. */
  #later: Buffer[] = [];
  #laterBytes = 0;
  readonly #sum = new RunningCrc64();
  /** Of `#bytes`, what is summed up. */
  #summed = 0;
  #offset = 0;
  #closed = false;

  /** Bytes of the file that were read. */
  get offset(): number {
    return this.#offset;
  }

  /** Nothing comes any more. */
  get isClosed(): boolean {
    return this.#closed;
  }

  /** Bytes that are here and not read. */
  get length(): number {
    return this.#bytes.length - this.#at + this.#laterBytes;
  }

  /** `chunk` is kept: nobody writes into it any more. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#later.push(chunk);
    this.#laterBytes += chunk.length;
  }

  close(): void {
    this.#closed = true;
  }

  /** What is unread, in one piece of at least `needed` bytes if so many are here. */
  unread(needed: number): Buffer {
    if (this.#laterBytes > 0 && this.#bytes.length - this.#at < needed) this.#join();
    return this.#at === 0 ? this.#bytes : this.#bytes.subarray(this.#at);
  }

  /** So many bytes have been read. */
  consume(count: number): void {
    this.#at += count;
    this.#offset += count;
  }

  /** Reads over as many of `count` bytes as are here; how many those were. */
  skip(count: number): number {
    if (this.#at === this.#bytes.length && this.#laterBytes > 0) this.#nextChunk();
    const skipped = Math.min(count, this.#bytes.length - this.#at);
    this.consume(skipped);
    return skipped;
  }

  /** The CRC-64 of all that was read. */
  checksum(): Buffer {
    this.#sumUp();
    return this.#sum.digest();
  }

  #sumUp(): void {
    this.#sum.update(this.#bytes.subarray(this.#summed, this.#at));
    this.#summed = this.#at;
  }

  #nextChunk(): void {
    this.#sumUp();
    this.#bytes = this.#later.shift()!;
    this.#laterBytes -= this.#bytes.length;
    [this.#at, this.#summed] = [0, 0];
  }

  #join(): void {
    this.#sumUp();
    const rest = this.#bytes.subarray(this.#at);
    const [only] = this.#later;
    const isCopied = rest.length > 0 || this.#later.length > 1;
    this.#bytes = isCopied ? Buffer.concat([rest, ...this.#later]) : only!;
    this.#later = [];
    [this.#at, this.#summed, this.#laterBytes] = [0, 0, 0];
  }
}
