/**
 * Going on with a snapshot stream that broke: the sender asks how many bytes of it the receiver
 * has, and leaves those out. Frozen formats, version 1, in the transport's request channel:
 *
 *   query   u8 0x52 · u8 version · u64 group · u64 replica · u64 snapshot id
 *   answer  u8 version · u64 bytes received
 */
import { ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import type { GroupId, NodeId, ReplicaId } from '../../../common/ids.ts';
import { requestTags } from '../../transport/request-tags.ts';
import type { Transport } from '../../transport/transport.ts';

const VERSION = 1;
const ASK_MS = 2_000;

export interface ProgressQuery {
  readonly group: GroupId;
  readonly replica: ReplicaId;
  /** Drawn by the sender when it captured the snapshot. */
  readonly id: number;
}

export function isProgressQuery(body: Buffer): boolean {
  return body[0] === requestTags.snapshotProgress;
}

export function encodeProgressQuery({ group, replica, id }: ProgressQuery): Buffer {
  return new ByteWriter(32)
    .u8(requestTags.snapshotProgress)
    .u8(VERSION)
    .u64(group)
    .u64(replica)
    .u64(id)
    .finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeProgressQuery(body: Buffer): ProgressQuery {
  return decodeFrame('snapshot progress', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const query = { group: reader.u64(), replica: reader.u64(), id: reader.u64() };
    reader.end();
    return query;
  });
}

export function encodeProgress(bytes: number): Buffer {
  return new ByteWriter(16).u8(VERSION).u64(bytes).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeProgress(body: Buffer): number {
  return decodeFrame('snapshot progress', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const bytes = reader.u64();
    reader.end();
    return bytes;
  });
}

/** Bytes of the snapshot that `node` has; 0 when it does not answer: then all of it is sent. */
export async function askProgress(
  transport: Pick<Transport, 'request'>,
  node: NodeId,
  query: ProgressQuery,
): Promise<number> {
  try {
    return decodeProgress(await transport.request(node, encodeProgressQuery(query), ASK_MS));
  } catch {
    return 0;
  }
}

/** `chunks` without their first `count` bytes. */
export async function* skipBytes(
  chunks: AsyncIterable<Buffer>,
  count: number,
): AsyncGenerator<Buffer> {
  let left = count;
  for await (const chunk of chunks) {
    if (left >= chunk.length) {
      left -= chunk.length;
      continue;
    }
    yield left === 0 ? chunk : chunk.subarray(left);
    left = 0;
  }
}
