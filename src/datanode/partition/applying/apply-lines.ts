/**
 * Commands of one entry, run one after the other on the open transaction. Synchronous until one
 * asks for a range: then the rest waits for it (decision 7a).
 */
import { limits } from '../../../common/limits.ts';
import {
  type RunContext,
  type RunResult,
  refusalBefore,
  type WriteRun,
} from '../../commands/rows/command.ts';
import { resolveCommand } from '../../commands/table/table.ts';
import { tooNew, unknownOf } from '../../commands/transactions/unknown.ts';
import { type Expired, expireKeys } from '../../encoding/expiry/expiry.ts';
import type { Pacing } from '../../encoding/steps/slices.ts';
import type { Txn } from '../../encoding/txn/txn.ts';
import { error, type Reply } from '../../resp/reply.ts';
import type { CommandLine } from '../entries/batch.ts';
import type { DueKey } from '../entries/envelope.ts';
import type { ReplicaState } from '../storage/state.ts';
import { runRanges, runReply, tooLarge } from '../turns/run-ranges.ts';
import type { Served } from './serving.ts';

/** What one entry came to. */
export interface ApplyStep {
  readonly state: ReplicaState;
  readonly replies: readonly Reply[];
  /** Of an expire entry: how many keys went. */
  readonly expired?: Expired;
  /** What clients that waited were given. */
  readonly served?: readonly Served[];
}

/** What commands may know, and when they are to pause. */
export interface ApplyContext extends RunContext {
  readonly pace: Pacing;
}

/** Lines that count as one step of a turn's work. */
const LINES_STEP = 16;
/** Bytes of values put that are as long work: a line of a few bytes may rewrite megabytes. */
const HEAVY_BYTES = 65_536;

/** Knows which commands must not run again; asked in order. */
export interface OnceGuard {
  /** What the command at `at` answers without being run; undefined: it runs. */
  before(txn: Txn, at: number): Reply | undefined;
  after(txn: Txn, at: number, reply: Reply): void;
}

export async function applyExpiry(
  txn: Txn,
  due: readonly DueKey[],
  state: ReplicaState,
  pace: Pacing,
): Promise<ApplyStep> {
  const run = expireKeys(txn, due, state.timeMs);
  return { state, replies: [], expired: await runRanges(run, txn, pace) };
}

export function applyLines(
  txn: Txn,
  lines: readonly CommandLine[],
  context: ApplyContext,
  state: ReplicaState,
  once?: OnceGuard,
): ApplyStep | Promise<ApplyStep> {
  const replies: Reply[] = [];
  const weight = new Weight(txn);
  for (let at = 0; at < lines.length; at++) {
    if (isPauseDue(at, context.pace, weight.isHeavy)) {
      return applyRest(undefined, { txn, lines, context, state, replies, once });
    }
    const reply = once?.before(txn, at) ?? applyLine(txn, lines[at]!, context);
    if (reply instanceof Promise) {
      return applyRest(reply, { txn, lines, context, state, replies, once });
    }
    replies.push(reply);
    once?.after(txn, at, reply);
  }
  return { state, replies };
}

interface Suspended {
  readonly txn: Txn;
  readonly lines: readonly CommandLine[];
  readonly context: ApplyContext;
  readonly state: ReplicaState;
  readonly replies: Reply[];
  readonly once: OnceGuard | undefined;
}

/** The lines behind those that `replies` are of; the first of them may be under way. */
async function applyRest(
  reply: Promise<Reply> | undefined,
  suspended: Suspended,
): Promise<ApplyStep> {
  const { txn, lines, context, state, replies, once } = suspended;
  const done = (given: Reply) => {
    once?.after(txn, replies.length, given);
    replies.push(given);
  };
  const weight = new Weight(txn);
  if (reply === undefined) await context.pace.pause();
  else done(await reply);
  while (replies.length < lines.length) {
    const at = replies.length;
    const given = once?.before(txn, at) ?? applyLine(txn, lines[at]!, context);
    // few are promises, and to await what is none costs as much as a short command
    done(given instanceof Promise ? await given : given);
    const isHeavy = weight.isHeavy;
    if (isPauseDue(replies.length, context.pace, isHeavy)) await context.pace.pause();
  }
  return { state, replies };
}

/** Tells when so much has been put that the clock is worth a look: at each short line it is not. */
export class Weight {
  readonly #txn: Pick<Txn, 'putBytes'>;
  #seen: number;

  constructor(txn: Pick<Txn, 'putBytes'>) {
    this.#txn = txn;
    this.#seen = txn.putBytes;
  }

  /** Since it was the last time. */
  get isHeavy(): boolean {
    if (this.#txn.putBytes - this.#seen < HEAVY_BYTES) return false;
    this.#seen = this.#txn.putBytes;
    return true;
  }
}

/**
 * Whether others are to have their turn after `done` lines, or what is as long. The clock is looked at
 * behind a step of them, and behind each that `isHeavy`. Not before the first, for which whoever begins
 * the entry looks.
 */
export function isPauseDue(done: number, pace: Pacing, isHeavy = true): boolean {
  if (done % LINES_STEP === LINES_STEP - 1) return pace.isDue();
  return isHeavy && done > 0 && pace.isDue(true);
}

/**
 * Throws KvorumError TOO_NEW for a command that this build does not know: a newer one carried it out,
 * and to go on would leave this replica unlike the others. It stops before anything of the entry is
 * written, and goes on from there once it is upgraded. Arguments that a command refuses are refused
 * by every build: one that comes to take them has to raise the apply version of entries with them.
 */
export function applyLine(
  txn: Txn,
  line: CommandLine,
  context: ApplyContext,
): Reply | Promise<Reply> {
  const command = resolveCommand(line);
  const unknown = unknownOf(command, line, resolveCommand);
  if (unknown !== undefined) throw tooNew(unknown);
  if (command?.kind !== 'write') {
    return error(`ERR the log holds '${line[0]?.toString()}', which is not a write command here`);
  }
  const refusal = refusalBefore(command, line, context.applyVersion);
  if (refusal !== undefined) return refusal;
  const prepared = command.prepare(line);
  if (!prepared.ok) return prepared.reply;
  if (line.length <= limits.argumentsAtOnceMax) return runPrepared(prepared.run, txn, context);
  return runLater(prepared.run, txn, context);
}

/** To look at thousands of arguments is a turn's work. */
async function runLater(run: WriteRun, txn: Txn, context: ApplyContext): Promise<Reply> {
  await context.pace.pause();
  return runPrepared(run, txn, context);
}

function runPrepared(run: WriteRun, txn: Txn, context: ApplyContext): Reply | Promise<Reply> {
  let result: RunResult;
  try {
    result = run(txn, context);
  } catch (failure) {
    return tooLarge(failure);
  }
  return 'kind' in result ? result : runReply(result, txn, context.pace);
}
