/**
 * The only door from log to engine (decision 7): committed entries, in order, become one atomic
 * engine batch that also holds the applied index; replies leave when the engine's readers see it.
 * A command that needs a range suspends this partition's apply until it is read (decision 7a).
 */
import { assert } from '../../../common/assert.ts';
import type { Clock } from '../../../common/clock.ts';
import type { KeyShare } from '../../../common/hash.ts';
import type { LogIndex, Term } from '../../../common/ids.ts';
import { limits } from '../../../common/limits.ts';
import { findEmptying } from '../../encoding/keyspace/emptying.ts';
import { type RankPool, RankTrees } from '../../encoding/ranks/rank-trees.ts';
import { redisDataRange } from '../../encoding/records/key.ts';
import { STATE_KEY } from '../../encoding/records/system.ts';
import type { EarlyStore } from '../../encoding/txn/early-elements.ts';
import { removeEarly } from '../../encoding/txn/early-removal.ts';
import { createView, Txn } from '../../encoding/txn/txn.ts';
import type { Engine } from '../../engine/engine.ts';
import { leavesJoint } from '../../raft/conf-change.ts';
import { decodeConfChange } from '../../raft/conf-change-codec.ts';
import type { ConfChange, ConfState, Entry } from '../../raft/message.ts';
import type { Reply } from '../../resp/reply.ts';
import {
  decodeEnvelope,
  decodeEnvelopeInSteps,
  type Envelope,
  type EnvelopeBody,
} from '../entries/envelope.ts';
import { decodeServedEpoch } from '../entries/served-epoch.ts';
import { encodeState, type ReplicaState, stateAt } from '../storage/state.ts';
import { Pace } from '../turns/pace.ts';
import { applyContext } from './apply-context.ts';
import { applyAfterFlush, applyBeforeFlush, flushOf, servedBy } from './apply-flush.ts';
import { type ApplyContext, type ApplyStep, applyExpiry, isPauseDue } from './apply-lines.ts';
import { ApplyQueue, type Work } from './apply-queue.ts';
import { applyCommands } from './apply-serving.ts';
import type { KeyEventGate } from './key-event-gate.ts';
import { OnceBatches } from './once-batches.ts';
import { heldBytes, type OpenBatch, openBatch, take } from './open-batch.ts';
import { ScriptEffects } from './script-effects.ts';
import type { Served } from './serving.ts';

/** Of smaller ones not enough arguments come to hold up the others. */
const LARGE_ENTRY_BYTES = 65_536;

export interface ApplierHooks {
  /** Nobody waits for what is applied here: this replica follows, and no read of it waits. */
  mayGather(): boolean;
  /** Called in log order as configuration entries are reached; returns the new configuration. */
  applyConfChange(change: ConfChange): ConfState;
  /** All of the partition's data goes now. */
  onClear(): void;
  /** An engine batch is written: entries up to the state's index are visible to readers. */
  onApplied(entries: readonly AppliedEntry[], state: ReplicaState, batch: AppliedBatch): void;
  readonly keyEvents: KeyEventGate;
  isFollowed?(): boolean; // somebody asks which keys change
  /** The node's; its own by default. */
  readonly pace?: Pace;
  readonly ranks?: RankPool;
  /** Changes held in memory before some are stored early; by default `limits.applyHeldBytes`. */
  readonly heldBytesMax?: number;
  /** Apply cannot go on: damage, or an engine that refuses writes. */
  onFault(error: unknown): void;
}

export interface AppliedEntry {
  readonly index: LogIndex;
  readonly term: Term;
  /** One per command; empty for entries without commands. */
  readonly replies: readonly Reply[];
  /** What clients that waited were given. */
  readonly served?: readonly Served[];
}

export interface AppliedBatch {
  /** The smallest deadline written by the batch, or Infinity. */
  readonly earliestDeadlineMs: number;
  /** How many expire entries it applied. */
  readonly expiryEntries: number;
  /** The group's configuration, or the epoch it serves, is another than before. */
  readonly membersChanged: boolean;
  /** Keys those deleted. */
  readonly expiredKeys: number;
  readonly expiredFields: number;
  /** Some collection ended whose elements are to be removed. */
  readonly leavesGarbage: boolean;
  readonly changed: Txn['changed']; // as keys of the engine
  /** Scripts have written: keys of it may be others than its commands name. */
  readonly ofScripts: boolean;
}

type RedisBody = Extract<EnvelopeBody, { family: 'redis' }>;

export class Applier {
  readonly #hooks: ApplierHooks;
  readonly #share: KeyShare;
  readonly #pace: Pace;
  readonly #ranks: RankTrees;
  readonly #queue: ApplyQueue;
  #engine: Engine;
  #state: ReplicaState;
  #writing = false;
  /** Of the batch that is written, or was last. */
  #writtenIndex: LogIndex = 0;
  #clearing = false;
  /** Nobody has looked for what the last life of the engine, or who sent it, stored early. */
  #isUnlooked = true;

  constructor(
    clock: Clock,
    engine: Engine,
    state: ReplicaState,
    share: KeyShare,
    hooks: ApplierHooks,
  ) {
    this.#queue = new ApplyQueue(clock, {
      mayGather: () => hooks.mayGather(),
      apply: (work) => this.#applyWork(work),
      onFault: (failure) => this.#onFault(failure),
    });
    this.#pace = hooks.pace ?? new Pace(clock);
    this.#ranks = new RankTrees(hooks.ranks);
    this.#engine = engine;
    this.#state = state;
    this.#share = share;
    this.#hooks = hooks;
  }

  /** As of the last batch that is in the engine. */
  get state(): ReplicaState {
    return this.#state;
  }

  /** A batch is on its way into the engine: readers of several keys wait. */
  get writing(): boolean {
    return this.#writing;
  }

  /** The last entry that a reader may see: of what is on its way into the engine, if anything is. */
  get visibleIndex(): LogIndex {
    return this.#writing ? this.#writtenIndex : this.#state.index;
  }

  /** True while the partition is being emptied: nobody may look at a part of it. */
  get clearing(): boolean {
    return this.#clearing;
  }

  /** `done` runs when all of `entries` are in the engine: see ApplyQueue. */
  enqueue(entries: readonly Entry[], done: () => void): void {
    this.#queue.add(entries, done);
  }

  /** Somebody waits for what is queued. */
  hurry(): void {
    this.#queue.start();
  }

  /** Resolves when nothing is queued or being applied. */
  whenIdle(): Promise<void> {
    return this.#queue.whenIdle();
  }

  /** After a snapshot took the engine's place; only while idle. */
  replace(engine: Engine, state: ReplicaState): void {
    assert(!this.#queue.running, 'the engine is replaced only between batches');
    this.#engine = engine;
    this.#state = state;
    this.#isUnlooked = true;
    this.#ranks.clear();
    // captured in the midst of a FLUSHALL: its data is that of no index until the entry is applied
    this.#clearing = findEmptying(createView(engine)) !== undefined;
  }

  /** Lets the batch being written finish, then applies nothing more. */
  async stop(): Promise<void> {
    await this.#queue.stop();
    this.#ranks.clear();
  }

  /** Nobody sees what was on its way into the engine. */
  #onFault(failure: unknown): void {
    this.#writing = false;
    this.#hooks.onFault(failure);
  }

  async #applyWork(work: readonly Work[]): Promise<void> {
    if (this.#isUnlooked) await removeEarly(this.#engine, this.#state.index);
    this.#isUnlooked = false;
    let batch = this.#newBatch();
    let looked = 0;
    this.#pace.begin();
    for (const { entries } of work) {
      for (const entry of entries) {
        if (entry.index <= batch.state.index) continue; // replayed after a restart or a snapshot
        assert(entry.index === batch.state.index + 1, () => `apply in order: ${entry.index}`);
        // a follower gathers hundreds of entries, and a few bytes may be long work
        if (isPauseDue(looked++, this.#pace, batch.weight.isHeavy)) await this.#pace.pause();
        const isLarge = entry.kind === 'normal' && entry.data.length > LARGE_ENTRY_BYTES;
        const envelope = isLarge
          ? await decodeEnvelopeInSteps(entry.data, this.#pace)
          : envelopeOf(entry);
        const body = envelope?.body.family === 'redis' ? envelope.body : undefined;
        const flushAt = body === undefined ? -1 : flushOf(body, batch.txn);
        if (envelope !== undefined && body !== undefined && flushAt >= 0) {
          await this.#write(batch);
          await this.#flush(entry, envelope, body, flushAt);
          batch = this.#newBatch();
          continue;
        }
        const pending = this.#applyEntry(batch, entry, envelope);
        take(batch, entry, pending instanceof Promise ? await pending : pending);
        if (heldBytes(batch) < limits.applyReplyBytes) continue;
        await this.#write(batch);
        batch = this.#newBatch();
      }
    }
    await this.#write(batch);
    for (const { done } of work) done();
  }

  #newBatch(effects?: ScriptEffects): OpenBatch {
    const bytesMax = this.#hooks.heldBytesMax ?? limits.applyHeldBytes;
    const early: EarlyStore = { engine: this.#engine, pace: this.#pace, bytesMax };
    const txn = new Txn(this.#engine, [], this.#ranks, early);
    return openBatch(txn, this.#state, effects, this.#hooks.isFollowed?.());
  }

  async #write(batch: OpenBatch): Promise<void> {
    const { txn, effects, applied, state, expiryEntries, expiredKeys, expiredFields } = batch;
    if (applied.length === 0) return;
    txn.put(STATE_KEY, encodeState(state));
    const operations = txn.isLarge ? await txn.batchInSteps(this.#pace) : txn.batch();
    this.#writtenIndex = state.index;
    this.#writing = true;
    await this.#engine.write(operations);
    this.#ranks.written();
    this.#writing = false;
    this.#clearing = false;
    const { epoch, confState } = this.#state;
    this.#state = state;
    const membersChanged = state.epoch !== epoch || state.confState !== confState;
    const { earliestDeadlineMs, leavesGarbage } = txn;
    this.#hooks.onApplied(applied, state, {
      earliestDeadlineMs,
      leavesGarbage,
      changed: txn.changed,
      expiryEntries,
      expiredKeys,
      expiredFields,
      membersChanged,
      ofScripts: effects.hasWritten,
    });
    if (effects.messages.length === 0) return this.#hooks.keyEvents.publish(txn.events);
    await this.#hooks.keyEvents.publishAll(txn.events, effects, this.#pace);
  }

  /**
   * FLUSHALL takes no memory for what it deletes: everything before its entry is in the engine, then
   * what the commands before it leave, the range is cleared, and one batch follows with what the
   * entry did after it. Reads wait meanwhile. A crash in between, and a snapshot taken then, leaves
   * data of which a part is gone, and a mark of it; the entry is applied again, from the mark on,
   * before anything later, and no read is served before that (it is committed, so every leader has
   * it).
   */
  async #flush(entry: Entry, envelope: Envelope, body: RedisBody, flushAt: number): Promise<void> {
    const engine = this.#engine;
    const state = this.#timedState(entry, envelope, this.#state);
    const effects = this.#effectsOf(entry, undefined, new ScriptEffects());
    const context = this.#contextOf(envelope, state, effects);
    const once = new OnceBatches(body.once ?? [], state.timeMs, flushAt);
    const tells = this.#hooks.keyEvents.isOpen(entry.term);
    const flush = { index: entry.index, body, flushAt, once, tells };
    this.#clearing = true;
    const early = await applyBeforeFlush(engine, flush, context, state);
    this.#hooks.onClear();
    this.#ranks.clear();
    await engine.clearRange(redisDataRange());
    const after = this.#newBatch(effects);
    after.txn.beginEntry(entry.index);
    after.txn.recordEvents(tells);
    after.txn.keepEarlierEvents(early.events);
    this.#effectsOf(entry, after.txn, effects);
    const late = await applyAfterFlush(after.txn, flush, context, state);
    const replies = [...early.replies, ...late.replies];
    take(after, entry, { state, replies, served: servedBy(early, late) });
    await this.#write(after);
  }

  /** Synchronous unless a command asks for a range. */
  #applyEntry(
    { txn, state: before, effects }: OpenBatch,
    entry: Entry,
    envelope: Envelope | undefined,
  ): ApplyStep | Promise<ApplyStep> {
    const state = stateAt(entry, before, before.timeMs);
    if (entry.kind !== 'normal') return { state: this.#changeMembers(entry, state), replies: [] };
    if (envelope === undefined) return { state, replies: [] };
    txn.beginEntry(entry.index);
    txn.recordEvents(this.#hooks.keyEvents.isOpen(entry.term));
    const timed = this.#timedState(entry, envelope, before);
    return this.#applyEnvelope(txn, envelope, timed, this.#effectsOf(entry, txn, effects));
  }

  /** Those of a batch, for what its next entry does. */
  #effectsOf({ term }: Entry, txn: Txn | undefined, effects: ScriptEffects): ScriptEffects {
    effects.beginEntry(txn, this.#hooks.keyEvents.isTelling(term));
    return effects;
  }

  /** A change that serves an older wanted record than one before it did is refused (decision 17). */
  #changeMembers({ data }: Entry, state: ReplicaState): ReplicaState {
    const change = decodeConfChange(data);
    const leaves = leavesJoint(change);
    // a survivor that went on alone has no joint configuration to leave (`take-over.ts`)
    if (leaves && state.confState.votersOutgoing.length === 0) return state;
    const epoch = leaves ? state.epoch : decodeServedEpoch(change.context);
    if (epoch < state.epoch) return state;
    return { ...state, epoch, confState: this.#hooks.applyConfChange(change) };
  }

  #timedState(entry: Entry, { timeMs }: Envelope, before: ReplicaState): ReplicaState {
    return stateAt(entry, before, Math.max(before.timeMs, timeMs));
  }

  #contextOf(envelope: Envelope, { timeMs }: ReplicaState, effects: ScriptEffects): ApplyContext {
    return applyContext(envelope, timeMs, { share: this.#share, pace: this.#pace, effects });
  }

  #applyEnvelope(
    txn: Txn,
    envelope: Envelope,
    state: ReplicaState,
    effects: ScriptEffects,
  ): ApplyStep | Promise<ApplyStep> {
    const { body } = envelope;
    if (body.family === 'internal') {
      if (body.operation !== 'expire') return { state, replies: [] };
      return applyExpiry(txn, body.keys, state, this.#pace);
    }
    const { lines, waiting } = body;
    const once = body.once && new OnceBatches(body.once, state.timeMs);
    const context = this.#contextOf(envelope, state, effects);
    return applyCommands(txn, { lines, waiting, once }, context, state);
  }
}

/** Undefined for entries without one: a new leader's first, a change of configuration. */
function envelopeOf({ kind, data }: Entry): Envelope | undefined {
  return kind === 'normal' && data.length > 0 ? decodeEnvelope(data) : undefined;
}
