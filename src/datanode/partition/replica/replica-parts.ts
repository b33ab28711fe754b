/**
 * The parts of a replica, made in the order in which they need each other, and what each of them asks of
 * the others and tells them. A part knows no other but through what is said here.
 */
import { must } from '../../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { PeerMessage } from '../../raft/message.ts';
import { createRaftNode } from '../../raft/raft.ts';
import type { RaftNode } from '../../raft/ready.ts';
import type { ReplicaLog } from '../../raftlog/raft-log.ts';
import { type AppliedBatch, type AppliedEntry, Applier } from '../applying/applier.ts';
import type { DueKey } from '../entries/envelope.ts';
import { Leadership } from '../leading/leadership.ts';
import { RoleWatch } from '../leading/role-watch.ts';
import { Sleep } from '../sleeping/sleep.ts';
import { ReplicaSnapshots } from '../snapshots/replica-snapshots.ts';
import type { ReceivedSnapshot } from '../snapshots/snapshot-inbox.ts';
import { EngineSlot } from '../storage/engine-slot.ts';
import { GroupTime } from '../storage/group-time.ts';
import { LogWriter } from '../storage/log-writer.ts';
import { ReplicaStorage } from '../storage/replica-storage.ts';
import { membershipOf, type ReplicaState } from '../storage/state.ts';
import { Expiry } from '../upkeep/expiry.ts';
import { Effects } from './effects.ts';
import { type OpenReplica, type ReplicaWorld, raftConfig } from './replica-world.ts';
import { Requests } from './requests.ts';

/** The replica whose parts they are. */
export interface PartsOwner {
  readonly isLeader: boolean;
  readonly stopped: boolean;
  /** An input, as from another member. */
  step(message: PeerMessage): void;
  reportSnapshot(replica: ReplicaId, outcome: 'sent' | 'failed'): void;
  /** It cannot be trusted or used any more. */
  fail(error: unknown): void;
}

export class ReplicaParts {
  readonly #owner: PartsOwner;
  readonly #world: ReplicaWorld;
  readonly #id: ReplicaId;
  readonly log: ReplicaLog;
  readonly slot: EngineSlot;
  readonly time: GroupTime;
  readonly writer: LogWriter;
  readonly applier: Applier;
  readonly snapshots: ReplicaSnapshots;
  readonly expiry: Expiry;
  readonly raft: RaftNode;
  readonly requests: Requests;
  readonly leadership: Leadership;
  readonly effects: Effects;
  readonly sleep: Sleep;
  readonly roles: RoleWatch;

  constructor(owner: PartsOwner, world: ReplicaWorld, open: OpenReplica) {
    this.#owner = owner;
    this.#world = world;
    this.#id = open.id;
    this.log = must(world.log.replica(open.id), `replica ${open.id} has a log`);
    this.slot = new EngineSlot(world.engines, open.id, open.engine, this.log.base.index);
    this.time = new GroupTime(world, open.id, () => this.#state.confState.voters);
    this.time.resume(open.state.timeMs, this.log);
    this.writer = new LogWriter(world.log, this.log, open.id);
    this.applier = this.#createApplier(open);
    this.snapshots = this.#createSnapshots(open);
    this.expiry = this.#createExpiry();
    const storage = new ReplicaStorage(this.log, open.state, () => this.snapshots.take());
    this.raft = createRaftNode(raftConfig(world, open, storage));
    this.requests = this.#createRequests(open);
    const own = { state: () => this.#state, tell: () => this.roles.tell() };
    this.leadership = new Leadership(world, open.id, this.raft, own);
    this.effects = this.#createEffects();
    this.sleep = this.#createSleep();
    this.roles = this.#createRoles();
  }

  get #state(): ReplicaState {
    return this.applier.state;
  }

  get #appliedIndex(): LogIndex {
    return this.applier.state.index;
  }

  #createApplier(open: OpenReplica): Applier {
    return new Applier(this.#world.clock, open.engine, open.state, open.record, {
      ...this.#world,
      heldBytesMax: this.#world.settings.applyHeldBytes,
      mayGather: () => this.raft.role === 'follower' && this.#isIdle(),
      applyConfChange: (change) => this.raft.applyConfChange(change),
      onClear: () => this.requests.onClear(),
      isFollowed: () => this.requests.changes.isFollowed,
      onApplied: (entries, _state, batch) => this.#onApplied(entries, batch),
      onFault: (error) => this.#owner.fail(error),
    });
  }

  #createSnapshots(open: OpenReplica): ReplicaSnapshots {
    return new ReplicaSnapshots(this.#world, open, {
      ...{ slot: this.slot, log: this.log, writer: this.writer },
      appliedIndex: () => this.#appliedIndex,
      stopped: () => this.#owner.stopped,
      whenIdle: () => this.applier.whenIdle(),
      onSwitched: (received) => this.#onSwitched(received),
      step: (message) => this.#owner.step(message),
      pendingSnapshot: () => this.raft.pendingSnapshot,
      onReport: (replica, outcome) => this.#owner.reportSnapshot(replica, outcome),
      onFault: (error) => this.#owner.fail(error),
    });
  }

  #createEffects(): Effects {
    return new Effects({
      ...{ self: this.#id, world: this.#world, raft: this.raft, writer: this.writer },
      ...{ applier: this.applier, snapshots: this.snapshots, time: this.time },
      ...{
        stopped: () => this.#owner.stopped,
        fail: (failure: unknown) => this.#owner.fail(failure),
      },
    });
  }

  #createRoles(): RoleWatch {
    return new RoleWatch({
      ...{ raft: this.raft, share: (replica: ReplicaId) => this.snapshots.share(replica) },
      membership: () => membershipOf(this.#state, this.leadership.confirmed),
      onLead: () => this.expiry.lead(),
      onStepDown: () => {
        this.expiry.stepDown();
        this.leadership.stepDown();
        this.requests.stepDown();
        this.snapshots.stepDown();
      },
      onRole: (news) => this.#world.onRole(news),
    });
  }

  #createSleep(): Sleep {
    return new Sleep({
      self: this.#id,
      raft: this.raft,
      afterTicks: this.#world.settings.sleepAfterTicks,
      isIdle: () => this.#isIdle(),
      isReachable: (member) => this.#world.isReachable(member),
      send: (message) => this.#world.send(message),
    });
  }

  #isIdle(): boolean {
    return this.requests.isIdle && (!this.#owner.isLeader || this.leadership.finished);
  }

  #createRequests({ record }: OpenReplica): Requests {
    const { lookups, ranges } = this.#world.meters;
    const ground = {
      ...{ raft: this.raft, ...this.#world, lookups, ranges },
      engine: () => this.slot.engine,
      appliedIndex: () => this.#appliedIndex,
      applied: () => this.#state,
      termOf: (index: LogIndex) => this.log.term(index),
      hurry: () => this.applier.hurry(),
      writing: () => this.applier.writing,
      visibleIndex: () => this.applier.visibleIndex,
      clearing: () => this.applier.clearing,
      nowMs: () => this.time.nowMs(),
      appliedTimeMs: () => this.#state.timeMs,
      expirySettled: (nowMs: number) => this.expiry.settled(nowMs),
      readTimeMs: () => this.expiry.readTimeMs(),
      wake: () => this.sleep.wake(),
      onFault: (error: unknown) => this.#owner.fail(error),
    };
    return new Requests(ground, record);
  }

  #createExpiry(): Expiry {
    const ground = {
      engine: () => this.slot.engine,
      appliedTimeMs: () => this.#state.timeMs,
      nowMs: () => this.time.nowMs(),
      propose: (keys: readonly DueKey[]) => this.requests.proposeExpiry(keys),
      resume: () => this.requests.resume(),
    };
    return new Expiry(ground, this.#world.logger, this.#world.meters);
  }

  #onSwitched({ engine, state }: ReceivedSnapshot): void {
    this.applier.replace(engine, state);
    this.time.observe(state.timeMs);
    this.expiry.replaced();
    this.requests.skipTo(state);
    this.#world.logger.info('snapshot installed', { index: state.index });
  }

  #onApplied(entries: readonly AppliedEntry[], batch: AppliedBatch): void {
    if (batch.membersChanged && this.#owner.isLeader) this.roles.tell();
    this.requests.onApplied(entries, batch);
    if (this.#owner.isLeader) {
      this.#world.meters.expiredKeys += batch.expiredKeys;
      this.#world.meters.expiredFields += batch.expiredFields;
    }
    if (batch.leavesGarbage) this.slot.garbage.note();
    this.expiry.onApplied(batch.earliestDeadlineMs, batch.expiryEntries > 0);
    this.requests.resume();
  }
}
