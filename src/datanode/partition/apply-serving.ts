/** Entries that carry clients who wait: after each command those it has something for are served. */
import type { RunContext } from '../commands/command.ts';
import { keepServed } from '../encoding/served.ts';
import type { Txn } from '../encoding/txn.ts';
import type { Reply } from '../resp/reply.ts';
import { type ApplyStep, applyLine, applyLines } from './apply-lines.ts';
import type { CommandLine } from './batch.ts';
import { NOT_KEPT, type Served, Serving } from './serving.ts';
import type { ReplicaState } from './state.ts';
import type { WaitingPart } from './waiter-codec.ts';

/** Synchronous where nobody waits and no command asks for a range. */
export function applyCommands(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart | undefined,
  context: RunContext,
  state: ReplicaState,
): ApplyStep | Promise<ApplyStep> {
  if (waiting === undefined) return applyLines(txn, lines, context, state);
  return applyServing(txn, lines, waiting, context, state);
}

async function applyServing(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart,
  context: RunContext,
  state: ReplicaState,
): Promise<ApplyStep> {
  const serving = new Serving(txn, context, waiting);
  const replies: Reply[] = [];
  for (const line of lines) {
    replies.push(await applyLine(txn, line, context));
    await serving.serveFilled();
  }
  await serving.finish();
  return { state, replies, served: serving.served };
}

/**
 * What comes after a FLUSHALL of the entry: `early` is what came before it, whose changes are gone
 * with everything else, but not what it gave to clients.
 */
export function applyAfterFlush(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart | undefined,
  context: RunContext,
  early: ApplyStep,
): ApplyStep | Promise<ApplyStep> {
  const { state, served = [] } = early;
  for (const { id, reply } of served) {
    if (reply.kind === 'encoded') keepServed(txn, id, reply.bytes, NOT_KEPT);
  }
  return applyCommands(txn, lines, waiting && { ...waiting, ready: [] }, context, state);
}

/** All that an entry with a FLUSHALL gave to clients. */
export function servedBy(early: ApplyStep, late: ApplyStep): readonly Served[] {
  return [...(early.served ?? []), ...(late.served ?? [])];
}
