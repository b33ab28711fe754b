/**
 * Snapshots on the wire (decision 15): a header, then chunks of key-value pairs in key order, the
 * last of which ends in a trailer with count and checksum. Frozen format, version 1:
 *
 *   header  u8 version · u64 group · u64 snapshot id · u64 offset in the stream of what follows
 *           · the raft envelope (from, to, term) · index · term · ConfState
 *   chunk   repeated: u32 key length, key, u32 value length, value
 *   trailer u32 0xffffffff · u64 pairs · u32 CRC-32 over all bytes before the trailer
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { crc32 } from '../../../common/checksum.ts';
import { decodeFrame } from '../../../common/decode.ts';
import { KvorumError } from '../../../common/errors.ts';
import type { GroupId } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import type { BatchOperation, EngineReader } from '../../engine/engine.ts';
import type { PeerMessage } from '../../raft/message.ts';
import { decodeConfState, encodeConfState } from '../storage/state.ts';

const SNAPSHOT_VERSION = 1;
const TRAILER = 0xffff_ffff;
const TRAILER_BYTES = 16;
const PAIRS_PER_READ = 512;
/** Every key of the encoding lies in here; the engine's own marks lie outside. */
const ALL_KEYS = { gte: Buffer.from([0x01]), lt: Buffer.from([0xff]) };

export type SnapshotMessage = Extract<PeerMessage, { type: 'snapshot' }>;

export interface SnapshotHeader {
  readonly group: GroupId;
  /** Drawn when it was captured: a stream that broke goes on only with the same bytes. */
  readonly id: number;
  /** Bytes of the stream that the receiver has already. */
  readonly offset: number;
  readonly message: SnapshotMessage;
}

export function encodeSnapshotHeader({ group, id, offset, message }: SnapshotHeader): Buffer {
  const writer = new ByteWriter(128)
    .u8(SNAPSHOT_VERSION)
    .u64(group)
    .u64(id)
    .u64(offset)
    .u64(message.from)
    .u64(message.to)
    .u64(message.term)
    .u64(message.snapshot.index)
    .u64(message.snapshot.term);
  encodeConfState(writer, message.snapshot.confState);
  return writer.finish();
}

export function decodeSnapshotHeader(bytes: Buffer): SnapshotHeader {
  return decodeFrame('snapshot header', () => {
    const reader = new ByteReader(bytes);
    reader.expectVersion(SNAPSHOT_VERSION);
    const [group, id, offset] = [reader.u64(), reader.u64(), reader.u64()];
    const [from, to, term] = [reader.u64(), reader.u64(), reader.u64()];
    const [index, snapshotTerm] = [reader.u64(), reader.u64()];
    const confState = decodeConfState(reader);
    reader.end();
    const snapshot = { index, term: snapshotTerm, confState, data: Buffer.alloc(0) };
    return { group, id, offset, message: { type: 'snapshot', from, to, term, snapshot } };
  });
}

/** The pairs of `reader` as chunks of about limits.snapshotChunkBytes. */
export async function* encodeSnapshotChunks(reader: EngineReader): AsyncGenerator<Buffer> {
  const iterator = reader.iterate(ALL_KEYS);
  let writer = new ByteWriter(limits.snapshotChunkBytes);
  let pairs = 0;
  let checksum = 0;
  try {
    for (;;) {
      const read = await iterator.next(PAIRS_PER_READ);
      if (read.length === 0) break;
      for (const [key, value] of read) {
        writer.bytes(key).bytes(value);
        pairs++;
        if (writer.length < limits.snapshotChunkBytes / 2) continue;
        const chunk = writer.finish();
        checksum = crc32(chunk, checksum);
        yield chunk;
        writer = new ByteWriter(limits.snapshotChunkBytes);
      }
    }
  } finally {
    await iterator.close();
  }
  const last = writer.finish();
  checksum = crc32(last, checksum);
  const trailer = new ByteWriter(16).u32(TRAILER).u64(pairs).u32(checksum).finish();
  yield Buffer.concat([last, trailer]);
}

/**
 * Takes chunks in order and gives the pairs as batches; throws KvorumError BAD_FRAME or CORRUPT at
 * the first thing that is not as it was sent, `finish` unless the trailer has come. A chunk may be
 * split anywhere; a long pair is put together once, when all of it is there.
 */
export class SnapshotDecoder {
  /** What is left of a pair that is not complete. */
  #parts: Buffer[] = [];
  #partBytes = 0;
  /** With fewer bytes than this there is nothing to be read. */
  #needed = 4;
  #lastKey: Buffer | undefined;
  #pairs = 0;
  #checksum = 0;
  #ended = false;

  decode(chunk: Buffer): BatchOperation[] {
    return decodeFrame('snapshot chunk', () => this.#decode(chunk));
  }

  finish(): void {
    if (!this.#ended) throw new KvorumError('CORRUPT', 'snapshot stream ended before its trailer');
  }

  #decode(chunk: Buffer): BatchOperation[] {
    this.#parts.push(chunk);
    this.#partBytes += chunk.length;
    const operations: BatchOperation[] = [];
    if (this.#ended) this.#checkEnd(this.#partBytes);
    else if (this.#partBytes >= this.#needed) this.#read(operations);
    return operations;
  }

  #read(operations: BatchOperation[]): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    let at = 0;
    while (!this.#ended) {
      const found = readPair(bytes, at);
      if (typeof found === 'number') {
        this.#needed = found;
        break;
      }
      if (found === 'trailer') {
        this.#checksum = crc32(bytes.subarray(0, at), this.#checksum);
        this.#checkTrailer(bytes, at + 4);
        this.#checkEnd(bytes.length - at - TRAILER_BYTES);
        this.#ended = true;
        this.#keep(bytes.subarray(bytes.length));
        return;
      }
      this.#checkKey(found.key);
      operations.push({ type: 'put', key: found.key, value: found.value });
      this.#pairs++;
      at = found.end;
    }
    this.#checksum = crc32(bytes.subarray(0, at), this.#checksum);
    this.#keep(bytes.subarray(at));
  }

  #keep(rest: Buffer): void {
    this.#parts = rest.length > 0 ? [rest] : [];
    this.#partBytes = rest.length;
  }

  /** Keys come in order, and none is one of the engine's own. */
  #checkKey(key: Buffer): void {
    const low = this.#lastKey ?? ALL_KEYS.gte;
    const order = Buffer.compare(key, low);
    if (order < 0 || (order === 0 && this.#lastKey) || Buffer.compare(key, ALL_KEYS.lt) >= 0) {
      throw new ByteRangeError(`the key of pair ${this.#pairs + 1} is out of order`);
    }
    this.#lastKey = key;
  }

  #checkEnd(more: number): void {
    if (more > 0) throw new ByteRangeError(`${more} bytes after the trailer`);
  }

  #checkTrailer(bytes: Buffer, at: number): void {
    const reader = new ByteReader(bytes, at);
    const pairs = reader.u64();
    const checksum = reader.u32();
    if (pairs !== this.#pairs || checksum !== this.#checksum) {
      throw new KvorumError(
        'CORRUPT',
        `snapshot stream damaged: ${this.#pairs} pairs, checksum ${this.#checksum}; ` +
          `its trailer says ${pairs} and ${checksum}`,
      );
    }
  }
}

/** What stands at `at`; a number when it is not all there: how many bytes it takes to say more. */
function readPair(
  bytes: Buffer,
  at: number,
): { key: Buffer; value: Buffer; end: number } | 'trailer' | number {
  const length = bytes.length - at;
  if (length < 4) return 4;
  const keyLength = bytes.readUInt32BE(at);
  if (keyLength === TRAILER) return length < TRAILER_BYTES ? TRAILER_BYTES : 'trailer';
  if (keyLength > limits.entryBytesHardMax) throw new ByteRangeError(`key of ${keyLength} bytes`);
  const valueAt = at + 4 + keyLength;
  if (bytes.length < valueAt + 4) return keyLength + 8;
  const valueLength = bytes.readUInt32BE(valueAt);
  if (valueLength > limits.entryBytesHardMax) {
    throw new ByteRangeError(`value of ${valueLength} bytes`);
  }
  const end = valueAt + 4 + valueLength;
  if (bytes.length < end) return end - at;
  const key = bytes.subarray(at + 4, valueAt);
  return { key, value: bytes.subarray(valueAt + 4, end), end };
}
