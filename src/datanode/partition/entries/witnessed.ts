/** Where in the log commands are, beside what they answer, for clients that ask (DEBUG WITNESS). */
import type { LogIndex } from '../../../common/ids.ts';
import type { Witness } from '../../commands/server/witness.ts';
import { DONE } from '../../commands/sessions/kept-reply.ts';
import type { CommandBatch, EntryPlace, LinePlace, LineResult } from './batch.ts';

/** What reads that run now see; undefined when nobody wants to know. */
export function seenBy(
  { witness }: CommandBatch,
  ground: { applied(): EntryPlace; visibleIndex(): LogIndex },
): Witness | undefined {
  if (witness !== true) return undefined;
  const { term, index } = ground.applied();
  return { term, index, upTo: ground.visibleIndex(), at: -1 };
}

export function witnessed(
  results: readonly LineResult[],
  seen: Witness | undefined,
): readonly LineResult[] {
  if (seen === undefined) return results;
  return results.map((one) => (one.ok ? { ok: true, reply: one.reply, witness: seen } : one));
}

/** A reply that an earlier try of the command has left says nothing of where that was. */
export function witnessedWrite(result: LineResult, { term, index, at }: LinePlace): LineResult {
  if (!result.ok || result.reply.kind === 'kept' || result.reply === DONE) return result;
  return { ok: true, reply: result.reply, witness: { term, index, upTo: index, at } };
}
