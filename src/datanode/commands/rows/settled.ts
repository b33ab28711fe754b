/**
 * What partitions answer that are asked alike, by a command which is refused where it has taken effect before:
 * where some have, and the others do it now, it is done in all of them.
 */
import type { Reply } from '../../resp/reply.ts';

/** Behind what is there already, and is not what was asked for: it is not settled. */
export const DIFFERS = ', and differs';

const SETTLED = /^ERR (?:Library not found|Library \S+ already exists)$/;

/** The partition is as the command would have made it. */
export function isSettled(reply: Reply): boolean {
  return reply.kind === 'error' && SETTLED.test(reply.text);
}

/** As Redis says it, who has one of each name alone. */
export function plainRefusal(reply: Reply): Reply {
  if (reply.kind !== 'error' || !reply.text.endsWith(DIFFERS)) return reply;
  return { kind: 'error', text: reply.text.slice(0, -DIFFERS.length) };
}
