/**
 * The only door from log to engine (decision 7): committed entries, in order, become one atomic
 * engine batch that also holds the applied index; replies leave when that batch is in the engine.
 * A command that needs a range suspends this partition's apply until the range is read (7a).
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex, Slot, Term } from '../../common/ids.ts';
import { seededRandom } from '../../common/random.ts';
import type { RunContext, RunResult } from '../commands/command.ts';
import { resolveCommand } from '../commands/table.ts';
import { expireKeys } from '../encoding/expiry.ts';
import { STATE_KEY } from '../encoding/system.ts';
import { Txn } from '../encoding/txn.ts';
import type { Engine, KeyRange, KeyValue } from '../engine/engine.ts';
import { decodeConfChange } from '../raft/conf-change-codec.ts';
import type { ConfChange, ConfState, Entry } from '../raft/message.ts';
import { error, type Reply } from '../resp/reply.ts';
import type { CommandLine } from './batch.ts';
import { decodeEnvelope, type Envelope } from './envelope.ts';
import { encodeState, type ReplicaState } from './state.ts';

export interface ApplierHooks {
  /** Called in log order as configuration entries are reached; returns the new configuration. */
  applyConfChange(change: ConfChange): ConfState;
  /** An engine batch is written: entries up to the state's index are visible to readers. */
  onApplied(entries: readonly AppliedEntry[], state: ReplicaState, batch: AppliedBatch): void;
  /** Apply cannot go on: damage, or an engine that refuses writes. */
  onFault(error: unknown): void;
}

export interface AppliedEntry {
  readonly index: LogIndex;
  readonly term: Term;
  /** One per command; empty for entries without commands. */
  readonly replies: readonly Reply[];
}

export interface AppliedBatch {
  /** The smallest deadline written by the batch, or Infinity. */
  readonly earliestDeadlineMs: number;
  /** How many expire entries it applied. */
  readonly expiryEntries: number;
}

interface Work {
  readonly entries: readonly Entry[];
  readonly done: () => void;
}

export class Applier {
  readonly #hooks: ApplierHooks;
  readonly #slots: { readonly firstSlot: Slot; readonly lastSlot: Slot };
  #engine: Engine;
  #state: ReplicaState;
  #queue: Work[] = [];
  #running = false;
  #writing = false;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(
    engine: Engine,
    state: ReplicaState,
    slots: { readonly firstSlot: Slot; readonly lastSlot: Slot },
    hooks: ApplierHooks,
  ) {
    this.#engine = engine;
    this.#state = state;
    this.#slots = slots;
    this.#hooks = hooks;
  }

  /** As of the last batch that is in the engine. */
  get state(): ReplicaState {
    return this.#state;
  }

  /** True while a batch is on its way into the engine: readers of several keys wait. */
  get writing(): boolean {
    return this.#writing;
  }

  /** `done` runs when all of `entries` are in the engine. */
  enqueue(entries: readonly Entry[], done: () => void): void {
    if (this.#stopped) return;
    this.#queue.push({ entries, done });
    if (!this.#running) void this.#run();
  }

  /** Resolves when nothing is queued or being applied. */
  whenIdle(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  /** After a snapshot took the engine's place; only while idle. */
  replace(engine: Engine, state: ReplicaState): void {
    assert(!this.#running, 'the engine is replaced only between batches');
    this.#engine = engine;
    this.#state = state;
  }

  /** Lets the batch being written finish, then applies nothing more. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#queue = [];
    return this.whenIdle();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#queue.length > 0) {
        const work = this.#queue;
        this.#queue = [];
        await this.#applyWork(work);
      }
    } catch (failure) {
      this.#stopped = true;
      this.#queue = [];
      this.#hooks.onFault(failure);
    } finally {
      this.#running = false;
      this.#writing = false;
      for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  async #applyWork(work: readonly Work[]): Promise<void> {
    const txn = new Txn(this.#engine);
    const applied: AppliedEntry[] = [];
    let state = this.#state;
    let expiryEntries = 0;
    for (const { entries } of work) {
      for (const entry of entries) {
        if (entry.index <= state.index) continue; // replayed after a restart or a snapshot
        assert(
          entry.index === state.index + 1,
          `apply in order: ${entry.index} after ${state.index}`,
        );
        const pending = this.#applyEntry(txn, entry, state);
        const step = pending instanceof Promise ? await pending : pending;
        state = step.state;
        if (step.expiry) expiryEntries++;
        applied.push({ index: entry.index, term: entry.term, replies: step.replies });
      }
    }
    if (applied.length > 0) {
      const batch = { earliestDeadlineMs: txn.earliestDeadlineMs, expiryEntries };
      txn.put(STATE_KEY, encodeState(state));
      this.#writing = true;
      await this.#engine.write(txn.operations());
      this.#writing = false;
      this.#state = state;
      this.#hooks.onApplied(applied, state, batch);
    }
    for (const { done } of work) done();
  }

  /** Synchronous unless a command asks for a range. */
  #applyEntry(txn: Txn, entry: Entry, before: ReplicaState): ApplyStep | Promise<ApplyStep> {
    const state = { ...before, index: entry.index, term: entry.term };
    if (entry.kind !== 'normal') {
      const confState = this.#hooks.applyConfChange(decodeConfChange(entry.data));
      return { state: { ...state, confState }, replies: [] };
    }
    if (entry.data.length === 0) return { state, replies: [] };
    const envelope = decodeEnvelope(entry.data);
    const timed = { ...state, timeMs: Math.max(state.timeMs, envelope.timeMs) };
    txn.beginEntry(entry.index);
    return this.#applyEnvelope(txn, envelope, timed);
  }

  #applyEnvelope(
    txn: Txn,
    envelope: Envelope,
    state: ReplicaState,
  ): ApplyStep | Promise<ApplyStep> {
    const { body } = envelope;
    if (body.family === 'internal') {
      if (body.operation === 'expire') expireKeys(txn, body.keys, state.timeMs);
      return { state, replies: [], expiry: body.operation === 'expire' };
    }
    const random = seededRandom(envelope.seed);
    const context: RunContext = {
      nowMs: state.timeMs,
      random: () => random.float(),
      ...this.#slots,
    };
    return applyLines(txn, body.lines, context, state);
  }
}

interface ApplyStep {
  readonly state: ReplicaState;
  readonly replies: readonly Reply[];
  readonly expiry?: boolean;
}

function applyLines(
  txn: Txn,
  lines: readonly CommandLine[],
  context: RunContext,
  state: ReplicaState,
): ApplyStep | Promise<ApplyStep> {
  const replies: Reply[] = [];
  for (let at = 0; at < lines.length; at++) {
    const reply = applyLine(txn, lines[at]!, context);
    if (reply instanceof Promise) return applyRest(reply, txn, lines, at, context, replies, state);
    replies.push(reply);
  }
  return { state, replies };
}

async function applyRest(
  suspended: Promise<Reply>,
  txn: Txn,
  lines: readonly CommandLine[],
  at: number,
  context: RunContext,
  replies: Reply[],
  state: ReplicaState,
): Promise<ApplyStep> {
  replies.push(await suspended);
  for (let next = at + 1; next < lines.length; next++) {
    replies.push(await applyLine(txn, lines[next]!, context));
  }
  return { state, replies };
}

function applyLine(txn: Txn, line: CommandLine, context: RunContext): Reply | Promise<Reply> {
  const command = resolveCommand(line);
  if (command?.kind !== 'write') {
    return error(`ERR the log holds '${line[0]?.toString()}', which is not a write command here`);
  }
  const prepared = command.prepare(line);
  if (!prepared.ok) return prepared.reply;
  txn.beginCommand();
  const result = prepared.run(txn, context);
  return 'kind' in result ? result : runRanges(result, (range) => txn.range(range));
}

/** Drives a suspended run to its reply, reading the ranges it asks for. */
export async function runRanges(
  run: Exclude<RunResult, Reply>,
  readRange: (range: KeyRange) => Promise<readonly KeyValue[]>,
): Promise<Reply> {
  let step = run.next();
  while (!step.done) step = run.next(await readRange(step.value));
  return step.value;
}
