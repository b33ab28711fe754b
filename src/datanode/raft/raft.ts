/**
 * The face of one replica: collects what the core wants done into Readys, and hands the core its
 * own acknowledgements when the caller has done it (advance), or attaches them to the storage
 * messages (asynchronous storage).
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId, Term } from '../../common/ids.ts';
import { campaignIfAllowed, electionOf } from './candidate.ts';
import { encodeConfChange } from './conf-change-codec.ts';
import type { RaftConfig } from './config.ts';
import { type Core, createCore, hardStateOf, restartTimers, send } from './core.ts';
import {
  confChangeRefusal,
  newVoterRefusal,
  proposeAsLeader,
  reportSnapshot,
  reportUnreachable,
  transferTo,
} from './leader.ts';
import { holdsVote, promiseLeftMs } from './lease.ts';
import { applyConfChange } from './membership.ts';
import {
  APPEND_THREAD,
  APPLY_THREAD,
  type ConfChange,
  type ConfState,
  type Entry,
  type HardState,
  type Message,
  NONE,
  type Snapshot,
} from './message.ts';
import type {
  ProgressStatus,
  ProposeResult,
  RaftNode,
  RaftStatus,
  Ready,
  Role,
  SoftState,
  StepResult,
} from './ready.ts';
import { flushReads, readsReady, sendLateAppends, vouchedReadIndex } from './replication.ts';
import { isResponse, step, tick } from './step.ts';

/** Opens the replica that `config.storage` holds. Throws when storage contradicts itself. */
export function createRaftNode(config: RaftConfig): RaftNode {
  return new ReplicaNode(createCore(config), config.asyncStorageWrites);
}

class ReplicaNode implements RaftNode {
  readonly #core: Core;
  readonly #async: boolean;
  #softState: SoftState;
  #hardState: HardState;
  /** The core's own acknowledgements, for advance(). */
  #onAdvance: Message[] = [];

  constructor(core: Core, async: boolean) {
    this.#core = core;
    this.#async = async;
    this.#softState = { leader: core.leader, role: core.role };
    this.#hardState = hardStateOf(core);
  }

  get term(): Term {
    return this.#core.term;
  }

  get role(): Role {
    return this.#core.role;
  }

  get leader(): ReplicaId {
    return this.#core.leader;
  }

  get lastIndex(): LogIndex {
    return this.#core.log.lastIndex();
  }

  get committed(): LogIndex {
    return this.#core.log.committed;
  }

  get pendingSnapshot(): Snapshot | undefined {
    return this.#core.log.unstable.snapshot;
  }

  tick(): void {
    tick(this.#core);
  }

  step(message: Message): StepResult {
    const core = this.#core;
    if (message.to !== core.id) return 'foreign';
    if (isResponse(message) && core.tracker.progress(message.from) === undefined) {
      return 'unknown-peer';
    }
    return step(core, message);
  }

  propose(data: readonly Uint8Array[]): ProposeResult {
    if (this.#core.role !== 'leader') return { ok: false, refusal: 'not-leader' };
    return proposeAsLeader(
      this.#core,
      data.map((bytes) => ({ kind: 'normal', data: bytes })),
    );
  }

  proposeConfChange(change: ConfChange): ProposeResult {
    const core = this.#core;
    if (core.role !== 'leader') return { ok: false, refusal: 'not-leader' };
    const refusal = confChangeRefusal(core, change) ?? newVoterRefusal(core, change);
    if (refusal !== undefined) return { ok: false, refusal };
    return proposeAsLeader(core, [{ kind: 'confChangeV2', data: encodeConfChange(change) }]);
  }

  applyConfChange(change: ConfChange): ConfState {
    return applyConfChange(this.#core, change);
  }

  requestRead(): number | undefined {
    return this.#core.role === 'leader' ? this.#core.reads.request() : undefined;
  }

  vouchedReadIndex(voter: ReplicaId): LogIndex | undefined {
    return vouchedReadIndex(this.#core, voter);
  }

  requestReadFromLeader(): number | undefined {
    const core = this.#core;
    if (core.role !== 'follower' || core.leader === NONE) return undefined;
    const readContext = core.reads.nextNumber();
    send(core, { type: 'readIndex', from: core.id, to: core.leader, term: 0, readContext });
    return readContext;
  }

  campaign(): void {
    const core = this.#core;
    if (!holdsVote(core)) campaignIfAllowed(core, electionOf(core));
  }

  transferLeader(to: ReplicaId): void {
    const core = this.#core;
    const progress = core.tracker.progress(to);
    if (core.role === 'leader') {
      if (progress !== undefined) transferTo(core, to, progress);
    } else {
      const { id, term } = core;
      step(core, { type: 'transferLeader', from: to, to: id, term });
    }
  }

  forgetLeader(): void {
    const { id, term } = this.#core;
    step(this.#core, { type: 'forgetLeader', from: id, to: id, term });
  }

  get promiseLeftMs(): number {
    return promiseLeftMs(this.#core);
  }

  banLease(): void {
    this.#core.reads.banLease();
  }

  reportUnreachable(replica: ReplicaId): void {
    reportUnreachable(this.#core, replica);
  }

  reportSnapshot(replica: ReplicaId, outcome: 'sent' | 'failed'): void {
    reportSnapshot(this.#core, replica, outcome);
  }

  get hasLateAppends(): boolean {
    return this.#core.fanout.isLate;
  }

  sendLateAppends(): void {
    sendLateAppends(this.#core);
  }

  hasReady(): boolean {
    const core = this.#core;
    return (
      core.messages.length > 0 ||
      core.messagesAfterAppend.length > 0 ||
      core.log.unstable.hasNextEntries() ||
      core.log.hasNextCommitted(!this.#async) ||
      core.readStates.length > 0 ||
      this.#softStateChanged() ||
      this.#hardStateChanged() ||
      core.log.unstable.nextSnapshot() !== undefined ||
      readsReady(core)
    );
  }

  ready(): Ready {
    assert(this.#onAdvance.length === 0, 'advance() is called between two Readys');
    const core = this.#core;
    flushReads(core);
    const { log } = core;
    const hardState = this.#hardStateChanged() ? hardStateOf(core) : undefined;
    const entries = log.unstable.nextEntries();
    const snapshot = log.unstable.nextSnapshot();
    const committedEntries = log.nextCommitted(!this.#async);
    const mustSync =
      entries.length > 0 ||
      core.term !== this.#hardState.term ||
      core.vote !== this.#hardState.vote;
    const softState = this.#softStateChanged()
      ? { leader: core.leader, role: core.role }
      : undefined;
    const readStates = core.readStates;
    const messages = core.messages;
    if (this.#async) this.#addStorageWork(messages, entries, hardState, snapshot, committedEntries);
    else this.#splitAcknowledgements(messages, snapshot, committedEntries);

    core.messages = [];
    core.messagesAfterAppend = [];
    core.readStates = [];
    if (softState !== undefined) this.#softState = softState;
    if (hardState !== undefined) this.#hardState = hardState;
    log.unstable.acceptHandedOut();
    if (committedEntries.length > 0) log.acceptApplying(committedEntries, !this.#async);
    return {
      softState,
      hardState,
      readStates,
      entries,
      snapshot,
      committedEntries,
      messages,
      mustSync,
    };
  }

  advance(): void {
    assert(!this.#async, 'advance() belongs to synchronous storage');
    const messages = this.#onAdvance;
    this.#onAdvance = [];
    for (const message of messages) step(this.#core, message);
  }

  restartTimers(): void {
    restartTimers(this.#core);
  }

  setRandomizedElectionTicks(ticks: number): void {
    this.#core.randomizedElectionTicks = ticks;
  }

  status(): RaftStatus {
    const core = this.#core;
    return {
      id: core.id,
      role: core.role,
      leader: core.leader,
      hardState: hardStateOf(core),
      applied: core.log.applied,
      lastIndex: core.log.lastIndex(),
      confState: core.tracker.conf,
      leadTransferee: core.leadTransferee,
      progress: core.role === 'leader' ? progressStatus(core) : [],
    };
  }

  #softStateChanged(): boolean {
    return this.#core.leader !== this.#softState.leader || this.#core.role !== this.#softState.role;
  }

  #hardStateChanged(): boolean {
    const { term, vote, log } = this.#core;
    const last = this.#hardState;
    return term !== last.term || vote !== last.vote || log.committed !== last.commit;
  }

  #addStorageWork(
    messages: Message[],
    entries: readonly Entry[],
    hardState: HardState | undefined,
    snapshot: Snapshot | undefined,
    committedEntries: readonly Entry[],
  ): void {
    const core = this.#core;
    const responses: Message[] = core.messagesAfterAppend;
    const work = entries.length > 0 || hardState !== undefined || snapshot !== undefined;
    if (work || responses.length > 0) {
      const done = appendDone(core, snapshot);
      // Last, so that the own acknowledgements are counted while the terms are still at hand.
      if (done !== undefined) responses.push(done);
      messages.push({
        type: 'storageAppend',
        from: core.id,
        to: APPEND_THREAD,
        term: hardState?.term ?? 0,
        entries,
        hardState,
        snapshot,
        responses,
      });
    }
    if (committedEntries.length > 0) {
      messages.push({
        type: 'storageApply',
        from: core.id,
        to: APPLY_THREAD,
        term: 0,
        entries: committedEntries,
        responses: [applyDone(core, committedEntries)],
      });
    }
  }

  #splitAcknowledgements(
    messages: Message[],
    snapshot: Snapshot | undefined,
    committedEntries: readonly Entry[],
  ): void {
    const core = this.#core;
    for (const message of core.messagesAfterAppend) {
      if (message.to === core.id) this.#onAdvance.push(message);
      else messages.push(message);
    }
    const done = appendDone(core, snapshot);
    if (done !== undefined) this.#onAdvance.push(done);
    if (committedEntries.length > 0) this.#onAdvance.push(applyDone(core, committedEntries));
  }
}

/**
 * Tells the core that all handed out so far is durable. It goes with every write while any entry
 * is unconfirmed, not only with writes of entries: an earlier one may have been ignored, because
 * the term changed while it was on its way.
 */
function appendDone(core: Core, snapshot: Snapshot | undefined): Message | undefined {
  const pending = core.log.unstable.length > 0;
  if (!pending && snapshot === undefined) return undefined;
  return {
    type: 'storageAppendResponse',
    from: APPEND_THREAD,
    to: core.id,
    term: core.term,
    index: pending ? core.log.lastIndex() : 0,
    logTerm: pending ? core.log.lastTerm() : 0,
    snapshot,
  };
}

function applyDone(core: Core, entries: readonly Entry[]): Message {
  return { type: 'storageApplyResponse', from: APPLY_THREAD, to: core.id, term: 0, entries };
}

function progressStatus(core: Core): ProgressStatus[] {
  const { tracker } = core;
  return tracker.members.map((replica) => ({ replica, ...tracker.member(replica).status() }));
}
