/**
 * Who leads a partition, asked of another node: bodies of the transport's request channel. A node of
 * an older version answers BAD_FRAME, and is asked in vain. Frozen format, version 1:
 *
 *   question  u8 0x48 · u8 version · text namespace · u32 partition · u64 group
 *   answer    u8 version · u64 term, 0: none known · text node, empty then
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../common/bytes.ts';
import { decodeFrame } from '../../common/decode.ts';
import type { GroupId, Namespace, PartitionId } from '../../common/ids.ts';
import { requestTags } from '../transport/request-tags.ts';
import type { LeaderHint } from './table.ts';

const VERSION = 1;

export interface LeaderQuestion {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
}

export function isLeaderQuestion(body: Buffer): boolean {
  return body[0] === requestTags.leader;
}

export function encodeLeaderQuestion({ namespace, partition, group }: LeaderQuestion): Buffer {
  const writer = new ByteWriter(64).u8(requestTags.leader).u8(VERSION).text(namespace);
  return writer.u32(partition).u64(group).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeLeaderQuestion(body: Buffer): LeaderQuestion {
  return decodeFrame('question about a leader', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const [namespace, partition, group] = [reader.text(), reader.u32(), reader.u64()];
    reader.end();
    return { namespace, partition, group };
  });
}

/** `undefined`: the node knows of none. */
export function encodeLeader(hint: LeaderHint | undefined): Buffer {
  const { node, term } = hint ?? { node: '', term: 0 };
  return new ByteWriter(32).u8(VERSION).u64(term).text(node).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeLeader(body: Buffer): LeaderHint | undefined {
  return decodeFrame('answer about a leader', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const [term, node] = [reader.u64(), reader.text()];
    reader.end();
    if ((term === 0) !== (node === '')) throw new ByteRangeError('half a leader');
    return term === 0 ? undefined : { node, term };
  });
}
