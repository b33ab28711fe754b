/**
 * Linearizable reads (decision 8): reads of a turn share one ReadIndex round; once leadership is
 * confirmed and the read index applied they run on the engine, synchronously where they can.
 */

import type { ErrorCode } from '../../common/errors.ts';
import type { KeyShare } from '../../common/hash.ts';
import type { LogIndex } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';
import type { ReadCommand, RunContext, RunResult } from '../commands/command.ts';
import { gatherRow } from '../commands/gather.ts';
import { resolveCommand } from '../commands/table.ts';
import { ReadAhead } from '../encoding/read-ahead.ts';
import type { Pacing } from '../encoding/slices.ts';
import { createView } from '../encoding/txn.ts';
import type { Lookups, View } from '../encoding/view.ts';
import type { Engine, EngineSnapshot } from '../engine/engine.ts';
import type { ReadState } from '../raft/ready.ts';
import { error } from '../resp/reply.ts';
import { replyBytes } from '../resp/reply-bytes.ts';
import { type ApplyContext, orTooLarge, runReply } from './apply-lines.ts';
import type { CommandBatch, CommandLine, LineResult } from './batch.ts';
import { failAll } from './proposals.ts';

interface PendingRead {
  readonly batch: CommandBatch;
  readonly singlePoint: boolean;
  readonly resolve: (results: readonly LineResult[]) => void;
}

/** What reads need of their replica at the moment they run. */
export interface ReadGround {
  engine(): Engine;
  appliedIndex(): LogIndex;
  /** An engine batch is on its way: only single-point reads may run. */
  writing(): boolean;
  /** The partition is being emptied: nothing may run. */
  clearing(): boolean;
  nowMs(): number;
  random(): number;
  /** False: some deadline at or before `nowMs` is not committed yet; `resume` is called later. */
  expirySettled(nowMs: number): boolean;
  onFault(error: unknown): void;
  readonly lookups: Lookups;
  readonly pace: Pacing;
}

export class Reads {
  readonly #ground: ReadGround;
  readonly #random = () => this.#ground.random();
  readonly #share: KeyShare;
  #fresh: PendingRead[] = [];
  #unconfirmed: { readonly context: number; reads: PendingRead[] }[] = [];
  #confirmed: { readonly index: LogIndex; reads: PendingRead[] }[] = [];
  #count = 0;

  constructor(ground: ReadGround, share: KeyShare) {
    this.#ground = ground;
    this.#share = share;
  }

  /** Batches that are not answered yet. */
  get count(): number {
    return this.#count;
  }

  get hasFresh(): boolean {
    return this.#fresh.length > 0;
  }

  gather(batch: CommandBatch): Promise<readonly LineResult[]> {
    if (this.#count >= limits.proposalsPerPartitionMax) {
      return Promise.resolve(failAll(batch, 'BUSY', 'too many reads are waiting'));
    }
    this.#count++;
    return new Promise((resolve) => {
      this.#fresh.push({ batch, singlePoint: isSinglePoint(batch), resolve });
    });
  }

  /** Asks for one round for everything gathered; `requestRead` as in RaftNode. */
  flush(requestRead: () => number | undefined): void {
    if (this.#fresh.length === 0) return;
    const context = requestRead();
    if (context === undefined) {
      this.failAll('NOT_LEADER', 'this replica does not lead');
      return;
    }
    this.#unconfirmed.push({ context, reads: this.#fresh });
    this.#fresh = [];
  }

  confirm(states: readonly ReadState[]): void {
    for (const { readContext, index } of states) {
      while (this.#unconfirmed.length > 0 && this.#unconfirmed[0]!.context <= readContext) {
        this.#confirmed.push({ index, reads: this.#unconfirmed.shift()!.reads });
      }
    }
    this.resume();
  }

  /** Runs whatever may run now: after a confirmation, an applied batch, or an expiry round. */
  resume(): void {
    while (this.#confirmed.length > 0) {
      const next = this.#confirmed[0]!;
      if (next.index > this.#ground.appliedIndex() || this.#ground.clearing()) return;
      const nowMs = this.#ground.nowMs();
      if (!this.#ground.expirySettled(nowMs)) return;
      const writing = this.#ground.writing();
      const postponed = writing ? next.reads.filter((read) => !read.singlePoint) : [];
      const runnable = writing ? next.reads.filter((read) => read.singlePoint) : next.reads;
      const context = { nowMs, random: this.#random, ...this.#share };
      for (const read of runnable) this.#run(read, context);
      if (postponed.length > 0) {
        next.reads = postponed;
        return;
      }
      this.#confirmed.shift();
    }
  }

  /** Leadership is gone (or the replica stops): every read may be sent elsewhere. */
  failAll(code: ErrorCode, message: string): void {
    const reads = [
      ...this.#fresh,
      ...this.#unconfirmed.flatMap((round) => round.reads),
      ...this.#confirmed.flatMap((round) => round.reads),
    ];
    this.#fresh = [];
    this.#unconfirmed = [];
    this.#confirmed = [];
    for (const read of reads) this.#finish(read, failAll(read.batch, code, message));
  }

  /** Gives up on reads past their deadline: no quorum answered. */
  expire(nowMs: number): void {
    const keep = (read: PendingRead) => {
      if (read.batch.deadlineMs > nowMs) return true;
      this.#finish(
        read,
        failAll(read.batch, 'NO_LEADER', 'no quorum confirmed the leader in time'),
      );
      return false;
    };
    this.#fresh = this.#fresh.filter(keep);
    for (const round of this.#unconfirmed) round.reads = round.reads.filter(keep);
    for (const round of this.#confirmed) round.reads = round.reads.filter(keep);
  }

  #run(read: PendingRead, context: RunContext): void {
    try {
      const { lookups, pace } = this.#ground;
      const results = runLines(read.batch, this.#ground.engine(), context, lookups, pace);
      if (!(results instanceof Promise)) {
        this.#finish(read, results);
        return;
      }
      results.then(
        (done) => this.#finish(read, done),
        (failure) => this.#fault(read, failure),
      );
    } catch (failure) {
      this.#fault(read, failure);
    }
  }

  #fault(read: PendingRead, failure: unknown): void {
    this.#finish(read, failAll(read.batch, 'CORRUPT', 'this replica is damaged and stops serving'));
    this.#ground.onFault(failure);
  }

  #finish(read: PendingRead, results: readonly LineResult[]): void {
    this.#count--;
    read.resolve(results);
  }
}

function isSinglePoint(batch: CommandBatch): boolean {
  return batch.lines.every((line, at) => {
    return (batch.prepared?.[at] ?? readCommand(line))?.singlePoint === true;
  });
}

function readCommand(line: CommandLine): ReadCommand | undefined {
  const command = resolveCommand(line) ?? gatherRow(line);
  return command?.kind === 'read' ? command : undefined;
}

/** Runs lines in order; the first that needs ranges moves the rest onto one snapshot. */
function runLines(
  batch: CommandBatch,
  engine: Engine,
  context: RunContext,
  lookups: Lookups,
  pace: Pacing,
): LineResult[] | Promise<LineResult[]> {
  const { lines } = batch;
  /** The engine, then a snapshot of it taken in the same turn: what was begun can go on. */
  let reader: Pick<Engine, 'getSync'> = engine;
  const view = createView({ getSync: (key) => reader.getSync(key) }, lookups);
  const results: LineResult[] = [];
  let bytes = 0;
  for (let at = 0; at < lines.length; at++) {
    if (bytes > limits.batchReplyBytes) return cutShort(results, lines.length);
    const reply = startLine(batch, at, view, context);
    if (!('kind' in reply)) {
      const snapshot = engine.snapshot();
      reader = snapshot;
      return runOnSnapshot(batch, reply, snapshot, view, { ...context, pace }, results);
    }
    bytes += replyBytes(reply);
    results.push({ ok: true, reply });
  }
  return results;
}

/** The rest may be asked for again, once the client has taken these replies. */
function cutShort(results: LineResult[], count: number): LineResult[] {
  const message = 'the replies before this one fill a batch';
  while (results.length < count) results.push({ ok: false, code: 'BUSY', message });
  return results;
}

async function runOnSnapshot(
  batch: CommandBatch,
  first: RunResult,
  snapshot: EngineSnapshot,
  view: View,
  context: ApplyContext,
  results: LineResult[],
): Promise<LineResult[]> {
  const { lines } = batch;
  const from = results.length;
  const source = new ReadAhead(snapshot);
  try {
    let bytes = results.reduce(
      (sum, result) => sum + (result.ok ? replyBytes(result.reply) : 0),
      0,
    );
    for (let at = from; at < lines.length; at++) {
      if (bytes > limits.batchReplyBytes) return cutShort(results, lines.length);
      const started = at === from ? first : startLine(batch, at, view, context);
      const reply = 'kind' in started ? started : await runReply(started, source, context.pace);
      bytes += replyBytes(reply);
      results.push({ ok: true, reply });
    }
    return results;
  } finally {
    await snapshot.close();
  }
}

function startLine(
  { lines, prepared: known }: CommandBatch,
  at: number,
  view: View,
  context: RunContext,
): RunResult {
  return orTooLarge(() => {
    const ready = known?.[at];
    if (ready !== undefined) return ready.run(view, context);
    const line = lines[at]!;
    const command = readCommand(line);
    if (command === undefined) return error(`ERR '${line[0]?.toString()}' is not a read command`);
    const prepared = command.prepare(line);
    return prepared.ok ? prepared.run(view, context) : prepared.reply;
  });
}
