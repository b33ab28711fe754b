/** Entries that carry clients who wait: after each command those it has something for are served. */
import type { LogIndex } from '../../common/ids.ts';
import { findEmptying, markEmptying, unmarkEmptying } from '../encoding/emptying.ts';
import { keepServed } from '../encoding/served.ts';
import { writeCounts } from '../encoding/system.ts';
import { createView, Txn } from '../encoding/txn.ts';
import type { Engine } from '../engine/engine.ts';
import { error, type Reply } from '../resp/reply.ts';
import { type ApplyContext, type ApplyStep, applyLine, applyLines } from './apply-lines.ts';
import type { CommandLine } from './batch.ts';
import { NOT_KEPT, type Served, Serving } from './serving.ts';
import type { ReplicaState } from './state.ts';
import type { WaitingPart } from './waiter-codec.ts';

/** Synchronous where nobody waits and no command asks for a range. */
export function applyCommands(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart | undefined,
  context: ApplyContext,
  state: ReplicaState,
): ApplyStep | Promise<ApplyStep> {
  if (waiting === undefined) return applyLines(txn, lines, context, state);
  return applyServing(txn, lines, waiting, context, state);
}

async function applyServing(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart,
  context: ApplyContext,
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

/** For whoever waits for a reply of an entry that this replica has applied only in part itself. */
const LOST = error(
  'UNKNOWNOUTCOME the command was carried out, and a FLUSHALL after it; its reply was lost',
);

/**
 * What comes before a FLUSHALL of the entry at `index`: its changes go with everything else, but not
 * what it gives to clients. When it resolves that is in the engine, with the mark that it need not
 * be done again; nor can it, once data is gone.
 */
export async function applyBeforeFlush(
  engine: Engine,
  index: LogIndex,
  lines: readonly CommandLine[],
  waiting: WaitingPart | undefined,
  context: ApplyContext,
  state: ReplicaState,
): Promise<ApplyStep> {
  const done = findEmptying(createView(engine));
  if (done?.index === index) {
    for (let at = 0; at < done.draws; at++) context.random();
    return { state, replies: lines.map(() => LOST) };
  }
  let draws = 0;
  const random = () => {
    draws++;
    return context.random();
  };
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const early = await applyCommands(txn, lines, waiting, { ...context, random }, state);
  const left = new Txn(engine);
  for (const { id, reply } of early.served ?? []) {
    if (reply.kind === 'encoded') keepServed(left, id, reply.bytes, NOT_KEPT);
  }
  markEmptying(left, { index, draws });
  await engine.write(left.operations());
  return early;
}

/** What comes after it, on an empty partition. */
export function applyAfterFlush(
  txn: Txn,
  lines: readonly CommandLine[],
  waiting: WaitingPart | undefined,
  context: ApplyContext,
  state: ReplicaState,
): ApplyStep | Promise<ApplyStep> {
  unmarkEmptying(txn);
  writeCounts(txn, { keys: 0, expires: 0 });
  return applyCommands(txn, lines, waiting && { ...waiting, ready: [] }, context, state);
}

/** All that an entry with a FLUSHALL gave to clients. */
export function servedBy(early: ApplyStep, late: ApplyStep): readonly Served[] {
  return [...(early.served ?? []), ...(late.served ?? [])];
}
