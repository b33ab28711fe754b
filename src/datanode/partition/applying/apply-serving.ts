/**
 * The commands of an entry, with what it carries beside them: clients who wait (after each command
 * those it has something for are served), and which commands take effect once.
 */
import type { Txn } from '../../encoding/txn/txn.ts';
import type { Reply } from '../../resp/reply.ts';
import type { CommandLine } from '../entries/batch.ts';
import type { WaitingPart } from '../entries/waiter-codec.ts';
import type { ReplicaState } from '../storage/state.ts';
import {
  type ApplyContext,
  type ApplyStep,
  applyLine,
  applyLines,
  isPauseDue,
  type OnceGuard,
} from './apply-lines.ts';
import { Serving } from './serving.ts';

/** Commands of an entry and what it carries beside them. */
export interface EntryPart {
  readonly lines: readonly CommandLine[];
  readonly waiting: WaitingPart | undefined;
  readonly once: OnceGuard | undefined;
}

/** Synchronous where nobody waits and no command asks for a range. */
export function applyCommands(
  txn: Txn,
  part: EntryPart,
  context: ApplyContext,
  state: ReplicaState,
): ApplyStep | Promise<ApplyStep> {
  const { lines, waiting, once } = part;
  if (waiting === undefined) return applyLines(txn, lines, context, state, once);
  return applyServing(txn, { lines, waiting, once }, context, state);
}

async function applyServing(
  txn: Txn,
  { lines, waiting, once }: EntryPart & { readonly waiting: WaitingPart },
  context: ApplyContext,
  state: ReplicaState,
): Promise<ApplyStep> {
  const serving = new Serving(txn, context, waiting);
  await serving.begin();
  const replies: Reply[] = [];
  for (const [at, line] of lines.entries()) {
    if (isPauseDue(at, context.pace)) await context.pace.pause();
    const given = once?.before(txn, at) ?? applyLine(txn, line, context);
    // few are promises, and to await what is none costs as much as a short command
    const reply = given instanceof Promise ? await given : given;
    once?.after(txn, at, reply);
    replies.push(reply);
    if (serving.hasFilled) await serving.serveFilled();
  }
  await serving.finish();
  return { state, replies, served: serving.served };
}
