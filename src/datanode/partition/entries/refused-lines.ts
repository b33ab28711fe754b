/**
 * Commands of a write batch that must not come into the log. Something stands there in their place, so
 * that the others share a batch, and its session's sequence, as they came; and a command that was carried
 * out before, under a session, is answered what it answered then.
 */

import { CARRIED_AT, isOnceLine } from '../../commands/sessions/once-line.ts';
import { BROKEN_EXEC } from '../../commands/transactions/exec-line.ts';
import { encodeReply } from '../../resp/encode-reply.ts';
import { NULL_ARRAY, type Reply } from '../../resp/reply.ts';
import { type CommandBatch, type CommandLine, changedBatch, type LineResult } from './batch.ts';

/** No build carries it out, all answer an error. */
const STAND_IN: CommandLine = [Buffer.from('PING')];
const STAND_IN_ERROR = "-ERR the log holds 'PING'";
const ASKED_OF_SESSION = encodeReply(NULL_ARRAY, 2).toString();

/** `refusalOf`: what a command is answered that is not to be carried out; undefined: it is. */
export async function executeRefusing(
  batch: CommandBatch,
  refusalOf: (line: CommandLine) => Reply | undefined,
  execute: (batch: CommandBatch) => Promise<readonly LineResult[]>,
): Promise<readonly LineResult[]> {
  const refusals = batch.lines.map(refusalOf);
  if (refusals.every((refusal) => refusal === undefined)) return execute(batch);
  const lines = batch.lines.map((line, at) =>
    refusals[at] === undefined ? line : standInFor(line),
  );
  const results = await execute(changedBatch(batch, { lines }));
  return results.map((result, at) => {
    const refusal = refusals[at];
    if (!result.ok || refusal === undefined || !isOfStandIn(result.reply)) return result;
    return { ...result, reply: refusal };
  });
}

/** Under a session the session is asked: the command may have been carried out. */
function standInFor(line: CommandLine): CommandLine {
  return isOnceLine(line) ? [...line.slice(0, CARRIED_AT), ...BROKEN_EXEC] : STAND_IN;
}

/** Also of one that the session keeps: the refusal was lost, and is asked for again. */
function isOfStandIn(reply: Reply): boolean {
  const text = encodeReply(reply, 2).toString('latin1', 0, 64);
  return text === ASKED_OF_SESSION || text.startsWith(STAND_IN_ERROR);
}
