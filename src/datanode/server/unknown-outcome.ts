/** Replies that say that nobody knows what became of a command. */
import type { Reply } from '../resp/reply.ts';

const CODE = 'UNKNOWNOUTCOME ';

type ErrorReply = Extract<Reply, { kind: 'error' }>;

export function isUnknownOutcome(reply: Reply): reply is ErrorReply {
  return reply.kind === 'error' && reply.text.startsWith(CODE);
}
