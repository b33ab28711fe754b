/**
 * File of record: frames between datanodes. Numbers are frozen; vectors in frame.test.ts.
 *
 *   header  u16 magic 0x6b76 ("kv") · u8 frame version · u8 channel · u32 body length
 *           · u32 CRC-32 over the eight bytes before it and the body
 *   body    raft: messages (message-codec.ts); pubsub: see pubsub/peer-codec.ts; other channels:
 *           u8 kind, then fields
 *
 * Numbers in headers are big-endian; `varint` is LEB128 of at most 53 bits in at most 8 bytes.
 */
import { assert } from '../../common/assert.ts';
import { crc32Within } from '../../common/checksum.ts';
import { KvorumError } from '../../common/errors.ts';
import { limits } from '../../common/limits.ts';

const FRAME_MAGIC = 0x6b76;
const FRAME_VERSION = 1;
export const FRAME_HEADER_BYTES = 12;
const CHANNEL_AT = 3;
const SUM_AT = 8;

/** 16 to 31 are reserved for topics, 32 to 47 for blobs. */
export const channels = { control: 0, raft: 1, request: 2, stream: 3, pubsub: 4 } as const;

export const controlKinds = { hello: 1, welcome: 2, refusal: 3, keepalive: 4 } as const;
export const requestKinds = { request: 1, answer: 2, failure: 3, cancel: 4 } as const;
/** What kind and id take at most, before the body of a request or an answer. */
export const REQUEST_HEAD_BYTES = 16;
export const streamKinds = {
  open: 1,
  chunk: 2,
  credit: 3,
  end: 4,
  abort: 5,
  taken: 6,
  refused: 7,
} as const;

const LAST_CHANNEL = channels.pubsub;
/** Bodies below this come from the Buffer pool: they keep at most one 8 KiB slab alive. */
const POOLED_BYTES = 2048;
const VARINT_BYTES_MAX = 8;
const BUFFER_BYTES_MIN = 1024;
/** A larger buffer is not written to again. */
const KEPT_BYTES_MAX = 64 * 1024;
const NOTHING = Buffer.alloc(0);

export function badFrame(message: string): KvorumError {
  return new KvorumError('BAD_FRAME', message);
}

/** The beginning of a frame at `start`; returns what its checksum goes on from, over the body. */
export function writeFrameHead(
  target: Buffer,
  start: number,
  channel: number,
  bodyBytes: number,
): number {
  assert(bodyBytes <= limits.frameBytesMax, () => `frame of ${bodyBytes} bytes`);
  target.writeUInt16BE(FRAME_MAGIC, start);
  target[start + 2] = FRAME_VERSION;
  target[start + CHANNEL_AT] = channel;
  target.writeUInt32BE(bodyBytes, start + 4);
  return crc32Within(target, start, start + SUM_AT);
}

/** The end of it. */
export function writeFrameSum(target: Buffer, start: number, sum: number): void {
  target.writeUInt32BE(sum, start + SUM_AT);
}

/** Growing writer of whole frames: one per connection, handed to the stream uncopied. */
export class FrameWriter {
  #buffer: Buffer;
  /** Where what was taken last lies. */
  #taken: Buffer = NOTHING;
  #length = 0;
  #frameStart = -1;

  constructor(sizeHint = BUFFER_BYTES_MIN) {
    this.#buffer = Buffer.allocUnsafe(sizeHint);
  }

  /** Bytes written, an open frame included. */
  get length(): number {
    return this.#length;
  }

  /** Bytes of the open frame's body so far. */
  get bodyLength(): number {
    return this.#length - this.#frameStart - FRAME_HEADER_BYTES;
  }

  begin(channel: number): this {
    assert(this.#frameStart === -1, 'the frame before is still open');
    this.#frameStart = this.#length;
    this.#reserve(FRAME_HEADER_BYTES);
    this.#buffer[this.#length + CHANNEL_AT] = channel;
    this.#length += FRAME_HEADER_BYTES;
    return this;
  }

  end(): void {
    const start = this.#frameStart;
    assert(start >= 0, 'no frame is open');
    const channel = this.#buffer[start + CHANNEL_AT]!;
    const head = writeFrameHead(this.#buffer, start, channel, this.bodyLength);
    const sum = crc32Within(this.#buffer, start + FRAME_HEADER_BYTES, this.#length, head);
    writeFrameSum(this.#buffer, start, sum);
    this.#frameStart = -1;
  }

  u8(value: number): this {
    this.#reserve(1);
    this.#buffer[this.#length++] = value;
    return this;
  }

  u32(value: number): this {
    this.#reserve(4);
    this.#length = this.#buffer.writeUInt32BE(value, this.#length);
    return this;
  }

  f64(value: number): this {
    this.#reserve(8);
    this.#length = this.#buffer.writeDoubleBE(value, this.#length);
    return this;
  }

  varint(value: number): this {
    assert(Number.isSafeInteger(value) && value >= 0, () => `varint out of range: ${value}`);
    this.#reserve(VARINT_BYTES_MAX);
    let rest = value;
    while (rest > 0x7fff_ffff) {
      this.#buffer[this.#length++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      this.#buffer[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#buffer[this.#length++] = rest;
    return this;
  }

  raw(bytes: Uint8Array): this {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
    return this;
  }

  bytes(bytes: Uint8Array): this {
    return this.varint(bytes.length).raw(bytes);
  }

  text(text: string): this {
    return this.bytes(Buffer.from(text, 'utf8'));
  }

  /** The frames written so far; the writer starts a new buffer afterwards. */
  take(): Buffer {
    assert(this.#frameStart === -1, 'a frame is still open');
    const taken = this.#buffer.subarray(0, this.#length);
    this.#taken = this.#buffer;
    this.#buffer = NOTHING;
    this.#length = 0;
    return taken;
  }

  /** Nobody looks any more at what was taken last: its memory is written to again. */
  reuse(): void {
    if (this.#length === 0 && this.#taken.length <= KEPT_BYTES_MAX) this.#buffer = this.#taken;
    this.#taken = NOTHING;
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2, BUFFER_BYTES_MIN));
    this.#buffer.copy(grown, 0, 0, this.#length);
    this.#buffer = grown;
  }
}

/** Bounds-checked reader of a frame's body; throws KvorumError BAD_FRAME. `bytes` are views. */
export class BodyReader {
  readonly #buffer: Buffer;
  #offset = 0;
  #itemsLeft: number = limits.frameItemsMax;

  constructor(body: Buffer) {
    this.#buffer = body;
  }

  get remaining(): number {
    return this.#buffer.length - this.#offset;
  }

  u8(): number {
    return this.#buffer[this.#take(1)]!;
  }

  u32(): number {
    return this.#buffer.readUInt32BE(this.#take(4));
  }

  f64(): number {
    return this.#buffer.readDoubleBE(this.#take(8));
  }

  flag(): boolean {
    const value = this.u8();
    if (value > 1) throw badFrame(`flag ${value} at ${this.#offset - 1}`);
    return value === 1;
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let i = 0; i < VARINT_BYTES_MAX; i++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) throw badFrame('varint beyond 2^53');
        return value;
      }
      scale *= 128;
    }
    throw badFrame(`varint longer than ${VARINT_BYTES_MAX} bytes at ${this.#offset}`);
  }

  bytes(): Buffer {
    const length = this.varint();
    const at = this.#take(length);
    return this.#buffer.subarray(at, at + length);
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  /** Takes `count` items out of what one body may hold, each a byte at least. */
  items(count: number): number {
    if (count > this.remaining) throw badFrame(`${count} items in ${this.remaining} bytes`);
    this.#itemsLeft -= count;
    if (this.#itemsLeft < 0) throw badFrame(`more than ${limits.frameItemsMax} items in a frame`);
    return count;
  }

  rest(): Buffer {
    const at = this.#take(this.remaining);
    return this.#buffer.subarray(at);
  }

  end(): void {
    if (this.remaining !== 0) throw badFrame(`${this.remaining} bytes after the last field`);
  }

  #take(count: number): number {
    const at = this.#offset;
    if (count > this.#buffer.length - at) {
      throw badFrame(`body ends early: needs ${count} bytes at ${at} of ${this.#buffer.length}`);
    }
    this.#offset = at + count;
    return at;
  }
}

/**
 * Cuts a byte stream, split anywhere, into frames. Each body is copied once into memory of its
 * own, so whoever keeps a view of it keeps no socket chunk alive, and added to the checksum as it
 * comes: 16 MiB at their end would hold the event loop for milliseconds. After an error it stays
 * failed.
 */
export class FrameDecoder {
  /** Longest body accepted: small until the handshake is done. */
  bodyBytesMax: number;
  readonly #header = Buffer.alloc(FRAME_HEADER_BYTES);
  #headerFilled = 0;
  #body: Buffer | undefined;
  #bodyFilled = 0;
  /** Of what has come of the frame. */
  #crc = 0;
  #stopped = false;

  constructor(bodyBytesMax: number = limits.frameBytesMax) {
    this.bodyBytesMax = bodyBytesMax;
  }

  /** No frame is delivered after this. */
  stop(): void {
    this.#stopped = true;
    this.#body = undefined;
  }

  /** Calls `onFrame` for every frame completed; throws KvorumError BAD_FRAME. */
  push(chunk: Buffer, onFrame: (channel: number, body: Buffer) => void): void {
    let at = 0;
    while (!this.#stopped) {
      at = this.#body ? at : this.#fillHeader(chunk, at);
      if (this.#body === undefined) return;
      const count = Math.min(this.#body.length - this.#bodyFilled, chunk.length - at);
      chunk.copy(this.#body, this.#bodyFilled, at, at + count);
      this.#crc = crc32Within(chunk, at, at + count, this.#crc);
      this.#bodyFilled += count;
      at += count;
      if (this.#bodyFilled < this.#body.length) return;
      const body = this.#body;
      this.#body = undefined;
      this.#headerFilled = 0;
      this.#checkSum(body);
      onFrame(this.#header[CHANNEL_AT]!, body);
    }
  }

  #fillHeader(chunk: Buffer, at: number): number {
    const count = Math.min(FRAME_HEADER_BYTES - this.#headerFilled, chunk.length - at);
    chunk.copy(this.#header, this.#headerFilled, at, at + count);
    this.#headerFilled += count;
    if (this.#headerFilled === FRAME_HEADER_BYTES) {
      const length = this.#checkHeader();
      this.#body =
        length < POOLED_BYTES ? Buffer.allocUnsafe(length) : Buffer.allocUnsafeSlow(length);
      this.#bodyFilled = 0;
      this.#crc = crc32Within(this.#header, 0, SUM_AT);
    }
    return at + count;
  }

  #checkHeader(): number {
    const header = this.#header;
    const magic = header.readUInt16BE(0);
    if (magic !== FRAME_MAGIC) this.#fail(`not a kvorum frame (begins 0x${magic.toString(16)})`);
    if (header[2] !== FRAME_VERSION) {
      this.#fail(`frame version ${header[2]}, this node speaks ${FRAME_VERSION}`);
    }
    if (header[3]! > LAST_CHANNEL) this.#fail(`unknown channel ${header[3]}`);
    const length = header.readUInt32BE(4);
    if (length > this.bodyBytesMax) {
      this.#fail(`frame of ${length} bytes, at most ${this.bodyBytesMax} allowed`);
    }
    return length;
  }

  #checkSum(body: Buffer): void {
    if (this.#crc === this.#header.readUInt32BE(SUM_AT)) return;
    this.#fail(`checksum of a frame of ${body.length} bytes is wrong`);
  }

  #fail(message: string): never {
    this.stop();
    throw badFrame(message);
  }
}
