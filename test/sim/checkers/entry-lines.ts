/** What an entry of a log carries. */

import { DONE } from '../../../src/datanode/commands/sessions/kept-reply.ts';
import { isBrokenExec } from '../../../src/datanode/commands/transactions/exec-line.ts';
import { BATCH_FULL, BATCH_LOST } from '../../../src/datanode/partition/applying/once-batches.ts';
import { decodeEnvelope } from '../../../src/datanode/partition/entries/envelope.ts';
import type { CarriedWaiter } from '../../../src/datanode/partition/entries/waiter-codec.ts';
import type { Reply } from '../../../src/datanode/resp/reply.ts';

type Line = readonly Buffer[];

/** Its commands; none of the leader's own entries. */
export function linesOf(data: Uint8Array): readonly Line[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? body.lines : [];
}

/** The clients that wait. */
export function waitersOf(data: Uint8Array): readonly CarriedWaiter[] {
  const { body } = decodeEnvelope(data);
  return body.family === 'redis' ? (body.waiting?.waiters ?? []) : [];
}

/** False for one that came again, or must not run: it did nothing. */
export function didRun(line: Line, reply: Reply): boolean {
  if (reply.kind === 'kept' || reply === DONE) return false;
  return reply !== BATCH_LOST && reply !== BATCH_FULL && !isBrokenExec(line);
}
