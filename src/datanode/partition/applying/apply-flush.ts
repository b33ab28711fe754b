/**
 * An entry with a FLUSHALL, before and behind it: what comes before it goes with all data, and what comes
 * behind begins on an empty partition. Between the two whoever applies the entry clears the engine.
 */
import type { LogIndex } from '../../../common/ids.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import { findEmptying, markEmptying, unmarkEmptying } from '../../encoding/keyspace/emptying.ts';
import { writeCounts } from '../../encoding/records/system.ts';
import { isFunctionKey } from '../../encoding/scripts/kept-libraries.ts';
import { isScriptKey } from '../../encoding/scripts/kept-scripts.ts';
import { keepServed } from '../../encoding/sessions/served.ts';
import { isSessionKey } from '../../encoding/sessions/sessions.ts';
import { createView, Txn } from '../../encoding/txn/txn.ts';
import type { KeyEvent, View } from '../../encoding/txn/view.ts';
import type { Engine } from '../../engine/engine.ts';
import { OK, type Reply } from '../../resp/reply.ts';
import type { CommandLine } from '../entries/batch.ts';
import type { EnvelopeBody } from '../entries/envelope.ts';
import type { ReplicaState } from '../storage/state.ts';
import type { ApplyContext, ApplyStep } from './apply-lines.ts';
import { applyCommands } from './apply-serving.ts';
import { isOver, LOST_BY_FLUSH, type OnceBatches } from './once-batches.ts';
import { NOT_KEPT, type Served } from './serving.ts';

/** Changes looked at between two looks at the clock. */
const LOOKED_STEP = 1_024;

/** An entry with a FLUSHALL. */
export interface FlushEntry {
  readonly index: LogIndex;
  readonly body: Extract<EnvelopeBody, { family: 'redis' }>;
  /** Of its commands. */
  readonly flushAt: number;
  readonly once: OnceBatches;
  /** Events of keys are told here. */
  readonly tells: boolean;
}

/** What came of the commands before it. */
interface EarlyStep extends ApplyStep {
  readonly events: readonly KeyEvent[];
}

/**
 * What comes before a FLUSHALL of an entry: its changes go with everything else, but not what it
 * gives to clients, nor what sessions remember. When it resolves that is in the engine, with the mark
 * that it need not be done again; nor can it, once data is gone.
 */
export async function applyBeforeFlush(
  engine: Engine,
  { index, body, flushAt, once, tells }: FlushEntry,
  context: ApplyContext,
  state: ReplicaState,
): Promise<EarlyStep> {
  const lines = body.lines.slice(0, flushAt);
  const done = findEmptying(createView(engine));
  if (done?.index === index) {
    for (let at = 0; at < done.draws; at++) context.random();
    once.skipToFlush();
    return { state, replies: lines.map(() => LOST_BY_FLUSH), events: [] };
  }
  let draws = 0;
  const random = () => {
    draws++;
    return context.random();
  };
  const txn = new Txn(engine);
  txn.beginEntry(index);
  txn.recordEvents(tells);
  const part = { lines, waiting: body.waiting, once };
  const early = await applyCommands(txn, part, { ...context, random }, state);
  txn.checkReads();
  const left = await leftBehind(engine, txn, early, context);
  markEmptying(left, { index, draws });
  await engine.write(left.operations());
  return { ...early, events: txn.events };
}

/** What outlives the data: what clients were given by `early`, what sessions remember of it, scripts, libraries. */
async function leftBehind(
  engine: Engine,
  txn: Txn,
  { served = [] }: ApplyStep,
  { pace }: ApplyContext,
): Promise<Txn> {
  const left = new Txn(engine);
  for (const { id, reply } of served) {
    if (reply.kind === 'encoded') keepServed(left, id, reply.bytes, NOT_KEPT);
  }
  let looked = 0;
  for (const { key, after } of txn.changes()) {
    if (++looked % LOOKED_STEP === 0 && pace.isDue()) await pace.pause();
    if (!isSessionKey(key) && !isScriptKey(key) && !isFunctionKey(key)) continue;
    if (after === undefined) left.del(key);
    else left.put(key, after);
  }
  return left;
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
