/** What a reply weighs, near enough for bounds on memory; its exact size shows when it is encoded. */
import type { Reply } from './reply.ts';

/** Headers and line ends of one element. */
export const FRAME_BYTES = 16;

export function replyBytes(reply: Reply): number {
  switch (reply.kind) {
    case 'bulk':
    case 'encoded':
      return reply.bytes.length + FRAME_BYTES;
    case 'either':
      return Math.max(replyBytes(reply.resp2), replyBytes(reply.resp3));
    case 'kept':
      return reply.resp3.length + FRAME_BYTES;
    case 'simple':
    case 'error':
    case 'verbatim':
      return reply.text.length + FRAME_BYTES;
    case 'array':
    case 'set':
    case 'push':
      return reply.items.reduce((sum, item) => sum + replyBytes(item), FRAME_BYTES);
    case 'map':
    case 'pairs':
    case 'rows':
      return reply.pairs.reduce(
        (sum, [key, value]) => sum + replyBytes(key) + replyBytes(value),
        FRAME_BYTES,
      );
    case 'packed':
      return reply.resp2.reduce((sum, { length }) => sum + length, FRAME_BYTES);
    default:
      return FRAME_BYTES;
  }
}
