/**
 * Commands of one entry, run one after the other on the open transaction. Synchronous until one
 * asks for a range: then the rest waits for it (decision 7a).
 */

import type { RunContext } from '../commands/command.ts';
import { resolveCommand } from '../commands/table.ts';
import { expireKeys } from '../encoding/expiry.ts';
import type { Slices } from '../encoding/slices.ts';
import type { Txn } from '../encoding/txn.ts';
import type { KeyRange, KeyValue } from '../engine/engine.ts';
import { error, type Reply } from '../resp/reply.ts';
import { ReplyTooLargeError } from '../resp/reply-pile.ts';
import type { CommandLine } from './batch.ts';
import type { DueKey } from './envelope.ts';
import type { Served } from './serving.ts';
import type { ReplicaState } from './state.ts';

/** What one entry came to. */
export interface ApplyStep {
  readonly state: ReplicaState;
  readonly replies: readonly Reply[];
  /** Of an expire entry: how many keys went. */
  readonly expired?: number;
  /** What clients that waited were given. */
  readonly served?: readonly Served[];
}

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
): Promise<ApplyStep> {
  const run = expireKeys(txn, due, state.timeMs);
  return { state, replies: [], expired: await runRanges(run, (range) => txn.range(range)) };
}

export function applyLines(
  txn: Txn,
  lines: readonly CommandLine[],
  context: RunContext,
  state: ReplicaState,
  once?: OnceGuard,
): ApplyStep | Promise<ApplyStep> {
  const replies: Reply[] = [];
  for (let at = 0; at < lines.length; at++) {
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
  readonly context: RunContext;
  readonly state: ReplicaState;
  readonly replies: Reply[];
  readonly once: OnceGuard | undefined;
}

async function applyRest(reply: Promise<Reply>, suspended: Suspended): Promise<ApplyStep> {
  const { txn, lines, context, state, replies, once } = suspended;
  const done = (given: Reply) => {
    once?.after(txn, replies.length, given);
    replies.push(given);
  };
  done(await reply);
  while (replies.length < lines.length) {
    const at = replies.length;
    done(once?.before(txn, at) ?? (await applyLine(txn, lines[at]!, context)));
  }
  return { state, replies };
}

export function applyLine(
  txn: Txn,
  line: CommandLine,
  context: RunContext,
): Reply | Promise<Reply> {
  const command = resolveCommand(line);
  if (command?.kind !== 'write') {
    return error(`ERR the log holds '${line[0]?.toString()}', which is not a write command here`);
  }
  const prepared = command.prepare(line);
  if (!prepared.ok) return prepared.reply;
  const result = orTooLarge(() => prepared.run(txn, context));
  return 'kind' in result ? result : runReply(result, (range) => txn.range(range));
}

/** What `run` returns, or the error that its reply would be too large. */
export function orTooLarge<Result>(run: () => Result): Result | Reply {
  try {
    return run();
  } catch (failure) {
    if (!(failure instanceof ReplyTooLargeError)) throw failure;
    return failure.reply;
  }
}

/** `runRanges` for a command: a reply that grows too large is an error. */
export async function runReply(
  run: Slices<Reply>,
  readRange: (range: KeyRange) => Promise<readonly KeyValue[]>,
): Promise<Reply> {
  try {
    return await runRanges(run, readRange);
  } catch (failure) {
    if (!(failure instanceof ReplyTooLargeError)) throw failure;
    return failure.reply;
  }
}

/** Drives a suspended run to its end, reading the ranges it asks for. */
export async function runRanges<Result>(
  run: Slices<Result>,
  readRange: (range: KeyRange) => Promise<readonly KeyValue[]>,
): Promise<Result> {
  let step = run.next();
  while (!step.done) step = run.next(await readRange(step.value));
  return step.value;
}
