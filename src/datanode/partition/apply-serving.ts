/**
 * The commands of an entry, with what it carries beside them: clients who wait (after each command
 * those it has something for are served), and which commands take effect once. And an entry with a
 * FLUSHALL, before and behind it.
 */
import type { LogIndex } from '../../common/ids.ts';
import { resolveCommand } from '../commands/table.ts';
import { findEmptying, markEmptying, unmarkEmptying } from '../encoding/emptying.ts';
import { keepServed } from '../encoding/served.ts';
import { isSessionKey } from '../encoding/sessions.ts';
import { writeCounts } from '../encoding/system.ts';
import { createView, Txn } from '../encoding/txn.ts';
import type { View } from '../encoding/view.ts';
import type { Engine } from '../engine/engine.ts';
import { OK, type Reply } from '../resp/reply.ts';
import {
  type ApplyContext,
  type ApplyStep,
  applyLine,
  applyLines,
  isPauseDue,
  type OnceGuard,
} from './apply-lines.ts';
import type { CommandLine } from './batch.ts';
import type { EnvelopeBody } from './envelope.ts';
import { isOver, LOST_BY_FLUSH, type OnceBatches } from './once-batches.ts';
import { NOT_KEPT, type Served, Serving } from './serving.ts';
import type { ReplicaState } from './state.ts';
import type { WaitingPart } from './waiter-codec.ts';

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

/** Changes looked at between two looks at the clock. */
const LOOKED_STEP = 1_024;

/** An entry with a FLUSHALL. */
export interface FlushEntry {
  readonly index: LogIndex;
  readonly body: Extract<EnvelopeBody, { family: 'redis' }>;
  /** Of its commands. */
  readonly flushAt: number;
  readonly once: OnceBatches;
}

/**
 * What comes before a FLUSHALL of an entry: its changes go with everything else, but not what it
 * gives to clients, nor what sessions remember. When it resolves that is in the engine, with the mark
 * that it need not be done again; nor can it, once data is gone.
 */
export async function applyBeforeFlush(
  engine: Engine,
  { index, body, flushAt, once }: FlushEntry,
  context: ApplyContext,
  state: ReplicaState,
): Promise<ApplyStep> {
  const lines = body.lines.slice(0, flushAt);
  const done = findEmptying(createView(engine));
  if (done?.index === index) {
    for (let at = 0; at < done.draws; at++) context.random();
    once.skipToFlush();
    return { state, replies: lines.map(() => LOST_BY_FLUSH) };
  }
  let draws = 0;
  const random = () => {
    draws++;
    return context.random();
  };
  const txn = new Txn(engine);
  txn.beginEntry(index);
  const part = { lines, waiting: body.waiting, once };
  const early = await applyCommands(txn, part, { ...context, random }, state);
  txn.checkReads();
  const left = new Txn(engine);
  for (const { id, reply } of early.served ?? []) {
    if (reply.kind === 'encoded') keepServed(left, id, reply.bytes, NOT_KEPT);
  }
  let looked = 0;
  for (const { key, after } of txn.changes()) {
    if (++looked % LOOKED_STEP === 0 && context.pace.isDue()) await context.pace.pause();
    if (!isSessionKey(key)) continue;
    if (after === undefined) left.del(key);
    else left.put(key, after);
  }
  markEmptying(left, { index, draws });
  await engine.write(left.operations());
  return early;
}

/** What comes with it and after it, on an empty partition. */
export async function applyAfterFlush(
  txn: Txn,
  { body, flushAt, once }: FlushEntry,
  context: ApplyContext,
  state: ReplicaState,
): Promise<ApplyStep> {
  unmarkEmptying(txn);
  writeCounts(txn, { keys: 0, expires: 0 });
  once.before(txn, flushAt);
  once.after(txn, flushAt, OK);
  const { waiting } = body;
  const behind = flushAt + 1;
  const part = {
    lines: body.lines.slice(behind),
    waiting: waiting && { ...waiting, ready: [] },
    once: {
      before: (of: Txn, at: number) => once.before(of, behind + at),
      after: (of: Txn, at: number, reply: Reply) => once.after(of, behind + at, reply),
    },
  };
  const late = await applyCommands(txn, part, context, state);
  return { ...late, replies: [OK, ...late.replies] };
}

/** All that an entry with a FLUSHALL gave to clients. */
export function servedBy(early: ApplyStep, late: ApplyStep): readonly Served[] {
  return [...(early.served ?? []), ...(late.served ?? [])];
}

/** The last command that empties the partition; -1: none does. */
export function flushOf({ lines, once = [] }: FlushEntry['body'], view: View): number {
  return lines.findLastIndex((line, at) => empties(line) && !isOver(view, once, at));
}

const LETTER_F = 0x66;
const LOWER_CASE = 0x20;

/** FLUSHALL or FLUSHDB, well formed; the first letter spares the others the look into the table. */
function empties(line: CommandLine): boolean {
  if ((line[0]![0]! | LOWER_CASE) !== LETTER_F) return false;
  const command = resolveCommand(line);
  return command?.kind === 'write' && command.empties === true && command.prepare(line).ok;
}
