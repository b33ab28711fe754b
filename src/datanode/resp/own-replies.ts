/**
 * Replies that are kept for a while: what they say is often a view into memory that is much larger, a
 * piece that values of many engines were copied into (`partition/remembering/value-ring.ts`), a request's or a
 * batch's. All of that stays as long as any view of it does, and bounds count the view alone.
 */
import { type OwnBytes, ownBytes } from '../../common/own-bytes.ts';
import type { Reply } from './reply.ts';

type Move = OwnBytes['move'];

/** The same replies; those that would keep much larger memory alive have memory of their own together. */
export function ownReplies(replies: readonly Reply[]): readonly Reply[] {
  const own = ownBytes((see) => {
    for (const reply of replies) moved(reply, see);
  });
  return own === undefined ? replies : replies.map((reply) => moved(reply, own.move));
}

function moved(reply: Reply, move: Move): Reply {
  switch (reply.kind) {
    case 'bulk':
    case 'encoded': {
      const bytes = move(reply.bytes);
      return bytes === reply.bytes ? reply : { kind: reply.kind, bytes };
    }
    case 'either':
      return { kind: 'either', ...movedBoth(reply, (form) => moved(form, move)) };
    case 'kept':
      return { kind: 'kept', ...movedBoth(reply, move) };
    case 'packed': {
      const chunks = { resp2: reply.resp2, resp3: reply.resp3 };
      return { ...reply, ...movedBoth(chunks, (all) => all.map(move)) };
    }
    case 'array':
    case 'set':
    case 'push':
      return { kind: reply.kind, items: reply.items.map((item) => moved(item, move)) };
    case 'map':
    case 'pairs':
    case 'rows': {
      const pairs = reply.pairs.map(([a, b]) => [moved(a, move), moved(b, move)] as const);
      return { kind: reply.kind, pairs };
    }
    default:
      return reply;
  }
}

/** Mostly they are the same. */
function movedBoth<T>({ resp2, resp3 }: { resp2: T; resp3: T }, move: (one: T) => T) {
  const first = move(resp2);
  return { resp2: first, resp3: resp3 === resp2 ? first : move(resp3) };
}
