/**
 * What became of an entry, asked of another node: bodies of the transport's request channel. Frozen
 * format, version 1:
 *
 *   question  u8 0x46 · u8 version · text namespace · u32 partition · u64 group · u64 term · u64 index
 *   answer    u8 version · u8 0 open, 1 never, 2 done: u32 replies (0: not here), u32 length, replies
 *             as sessions keep them (commands/sessions/kept-reply.ts); 3 forgotten
 */
import { ByteRangeError, ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { decodeFrame } from '../../../common/decode.ts';
import type { GroupId, Namespace, PartitionId } from '../../../common/ids.ts';
import { DONE, decodeKept, encodeKept } from '../../commands/sessions/kept-reply.ts';
import type { Reply } from '../../resp/reply.ts';
import { requestTags } from '../../transport/request-tags.ts';
import type { EntryFate, EntryPlace } from './batch.ts';

const VERSION = 1;
const KINDS = ['open', 'never', 'done', 'forgotten'] as const;

export interface FateQuestion extends EntryPlace {
  readonly namespace: Namespace;
  readonly partition: PartitionId;
  readonly group: GroupId;
}

export function isFateQuestion(body: Buffer): boolean {
  return body[0] === requestTags.fate;
}

export function encodeFateQuestion(question: FateQuestion): Buffer {
  const { namespace, partition, group, term, index } = question;
  const writer = new ByteWriter(64).u8(requestTags.fate).u8(VERSION).text(namespace).u32(partition);
  return writer.u64(group).u64(term).u64(index).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeFateQuestion(body: Buffer): FateQuestion {
  return decodeFrame('question about an entry', () => {
    const reader = new ByteReader(body, 1);
    reader.expectVersion(VERSION);
    const [namespace, partition, group] = [reader.text(), reader.u32(), reader.u64()];
    const question = { namespace, partition, group, term: reader.u64(), index: reader.u64() };
    reader.end();
    return question;
  });
}

/** Replies that are too large to be kept by a session come as `DONE`. */
export function encodeFate(fate: EntryFate): Buffer {
  const writer = new ByteWriter(64).u8(VERSION).u8(KINDS.indexOf(fate.kind));
  if (fate.kind !== 'done') return writer.finish();
  const { replies = [] } = fate;
  return writer.u32(replies.length).bytes(encodeKept(replies)).finish();
}

/** Throws KvorumError BAD_FRAME. */
export function decodeFate(body: Buffer): EntryFate {
  return decodeFrame('answer about an entry', () => {
    const reader = new ByteReader(body);
    reader.expectVersion(VERSION);
    const kind = KINDS[reader.u8()];
    if (kind === undefined) throw new ByteRangeError('unknown fate');
    if (kind !== 'done') {
      reader.end();
      return { kind };
    }
    const count = reader.u32();
    const kept = reader.bytes();
    reader.end();
    // each takes a byte at least
    if (count > kept.length) {
      throw new ByteRangeError(`${count} replies in ${kept.length} bytes`);
    }
    return { kind, replies: count === 0 ? undefined : decodeKept(kept, count) };
  });
}

/** What the command at `at` of an entry answered that took effect. */
export function replyOf({ replies }: Extract<EntryFate, { kind: 'done' }>, at: number): Reply {
  return replies?.[at] ?? DONE;
}
