/**
 * Replies as they are kept for whoever sends a command again: in both protocols where those differ,
 * so that a repeat may come over either. Frozen format, one after the other for a batch:
 *
 *   u8 0: not kept · u8 1: both alike, u32 length, bytes · u8 2: RESP2 and RESP3, each: u32 length,
 *   bytes; nothing at all: none was kept
 */
import { ByteReader, ByteWriter } from '../../../common/bytes.ts';
import { limits } from '../../../common/limits.ts';
import { encodePassing, encodeReply } from '../../resp/encode-reply.ts';
import { error, type Reply } from '../../resp/reply.ts';
import { replyBytes } from '../../resp/reply-bytes.ts';

const LEFT_OUT = 0;
const ALIKE = 1;
const BOTH = 2;

/** It took effect, once, and what it answered is not there any more. */
export const DONE: Reply = error(
  'DONE the command took effect once; its reply was lost on the way and is not kept, for its size ' +
    'or because the session has confirmed it',
);

/** An error, but of a command that was carried out: only what it answered is lost. */
export function saysDone(reply: Reply): boolean {
  return reply.kind === 'error' && reply.text.startsWith('DONE ');
}

/** Replies above limits.sessionReplyBytesMax, and beyond limits.sessionBatchBytesMax, are left out. */
export function encodeKept(replies: readonly Reply[]): Buffer {
  const writer = new ByteWriter(32 * replies.length);
  for (const reply of replies) {
    const room = Math.min(limits.sessionReplyBytesMax, limits.sessionBatchBytesMax - writer.length);
    if (replyBytes(reply) > 2 * room) writer.u8(LEFT_OUT);
    else encodeOne(writer, reply, room);
  }
  return writer.finish();
}

function encodeOne(writer: ByteWriter, reply: Reply, room: number): void {
  if (isAlike(reply)) {
    const bytes = encodePassing(reply, 2);
    if (bytes.length > room) writer.u8(LEFT_OUT);
    else writer.u8(ALIKE).bytes(bytes);
    return;
  }
  const resp2 = encodeReply(reply, 2);
  const resp3 = encodeReply(reply, 3);
  if (Math.max(resp2.length, resp3.length) > room) writer.u8(LEFT_OUT);
  else if (resp2.equals(resp3)) writer.u8(ALIKE).bytes(resp2);
  else writer.u8(BOTH).bytes(resp2).bytes(resp3);
}

/** In both protocols, as is known without a look at them. */
function isAlike({ kind }: Reply): boolean {
  return kind === 'simple' || kind === 'error' || kind === 'integer' || kind === 'bulk';
}

/** `count`: how many were kept together. */
export function decodeKept(bytes: Buffer, count: number): Reply[] {
  if (bytes.length === 0) return Array.from({ length: count }, () => DONE);
  const reader = new ByteReader(bytes);
  const replies: Reply[] = [];
  for (let left = count; left > 0; left--) {
    const form = reader.u8();
    if (form === LEFT_OUT) {
      replies.push(DONE);
      continue;
    }
    const resp2 = reader.bytes();
    replies.push({ kind: 'kept', resp2, resp3: form === BOTH ? reader.bytes() : resp2 });
  }
  return replies;
}
