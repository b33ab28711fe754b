/**
 * What a leader does so that its group gets the members the wanted record names: one step of
 * `planMembership` at a time, each carrying the record's epoch. A learner counts as caught up when
 * a round of entries took no longer than an election timeout (thesis 4.2.1).
 */
import type { Epoch, LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { Logger } from '../../../common/log.ts';
import type { PartitionRecord } from '../../../meta/schema.ts';
import type { ConfChange, ConfState } from '../../raft/message.ts';
import type { ProposeResult, RaftNode, RaftStatus } from '../../raft/ready.ts';
import { encodeServedEpoch } from '../entries/served-epoch.ts';
import type { ReplicaWorld } from '../replica/replica-world.ts';
import type { ReplicaState } from '../storage/state.ts';
import { planMembership } from './membership-plan.ts';

export interface WantedMembers {
  readonly epoch: Epoch;
  readonly replicas: readonly ReplicaId[];
}

export function wantedOf({ epoch, replicas }: PartitionRecord): WantedMembers {
  return { epoch, replicas: replicas.map(({ replica }) => replica) };
}

export interface ConvergenceGround {
  readonly self: ReplicaId;
  readonly electionTicks: number;
  readonly logger: Logger;
  /** The newest wanted record this node knows. */
  wanted(): WantedMembers;
  /** As applied: changes are judged by what is applied, never by what is only in the log. */
  state(): ReplicaState;
  status(): RaftStatus;
  propose(change: ConfChange): ProposeResult;
  /** An entry without commands. */
  proposeNothing(): ProposeResult;
  /** `confirmed` became true. */
  onConfirmed(): void;
  transfer(to: ReplicaId): void;
  /** Whether this node may work on one more group now; true again for one that it works on. */
  begin(): boolean;
  end(): void;
}

/** The convergence of a replica that runs in `world`. */
export function createConvergence(
  world: ReplicaWorld,
  self: ReplicaId,
  raft: RaftNode,
  own: Pick<ConvergenceGround, 'state' | 'onConfirmed'>,
): Convergence {
  return new Convergence({
    self,
    electionTicks: world.settings.electionTicks,
    logger: world.logger,
    wanted: () => world.wanted(),
    ...own,
    status: () => raft.status(),
    proposeNothing: () => raft.propose([NO_DATA]),
    propose: (change) => raft.proposeConfChange(change),
    transfer: (to) => raft.transferLeader(to),
    begin: () => world.beginChange(),
    end: () => world.endChange(),
  });
}

/** The entry that tells a quorum of a change for good. */
interface Confirmation {
  readonly conf: ConfState;
  readonly index: LogIndex;
  told: boolean;
}

/** Members that never changed need no confirmation. */
const BIRTH_EPOCH = 1;
const NO_DATA = new Uint8Array(0);

interface Round {
  readonly target: LogIndex;
  readonly startedTick: number;
  caughtUp: boolean;
}

export class Convergence {
  readonly #ground: ConvergenceGround;
  readonly #rounds = new Map<ReplicaId, Round>();
  readonly #lastActive = new Map<ReplicaId, number>();
  #confirmation: Confirmation | undefined;
  #ticks = 0;
  /** In which a transfer was wanted at the last tick. */
  #transferIn: ConfState | undefined;
  #settled: { readonly epoch: Epoch; readonly conf: ConfState } | undefined;

  constructor(ground: ConvergenceGround) {
    this.#ground = ground;
  }

  /**
   * True when a quorum knows for good that the present members decide. A commit index alone is not
   * synced; but who acknowledges an entry proposed after the change was applied has synced with it
   * that the change is committed. Before, the loss of a member could leave the others, after a loss
   * of power, with a configuration that counts on replicas that are gone.
   */
  get confirmed(): boolean {
    const state = this.#ground.state();
    if (state.epoch <= BIRTH_EPOCH) return true;
    const { conf, index } = this.#confirmation ?? {};
    return conf === state.confState && index !== undefined && state.index >= index;
  }

  /** Once per tick while this replica leads. */
  tick(): void {
    this.#ticks++;
    const state = this.#ground.state();
    const wanted = this.#ground.wanted();
    this.#confirm(state);
    if (this.#isSettled) return;
    if (wanted.epoch < state.epoch) return; // our copy is old: a newer one is on its way
    this.#observe(this.#ground.status());
    this.#step(state, wanted);
  }

  /** Nothing is left to do or to wait for. */
  get finished(): boolean {
    return this.#isSettled && this.confirmed;
  }

  get #isSettled(): boolean {
    const { epoch } = this.#ground.wanted();
    const settled = this.#settled;
    return settled?.epoch === epoch && settled.conf === this.#ground.state().confState;
  }

  /** Leadership ended: whoever follows goes on from the log. */
  stepDown(): void {
    this.#rounds.clear();
    this.#lastActive.clear();
    this.#settled = undefined;
    this.#confirmation = undefined;
    this.#transferIn = undefined;
    this.#ground.end();
  }

  #confirm(state: ReplicaState): void {
    if (state.confState.votersOutgoing.length > 0) return;
    const known = this.#confirmation;
    if (known?.conf === state.confState) {
      if (known.told || !this.confirmed) return;
      known.told = true;
      this.#ground.onConfirmed();
    } else if (state.epoch > BIRTH_EPOCH) {
      const result = this.#ground.proposeNothing();
      if (!result.ok) return;
      this.#confirmation = { conf: state.confState, index: result.index, told: false };
    }
  }

  #step(state: ReplicaState, wanted: WantedMembers): void {
    const { self } = this.#ground;
    const step = planMembership({
      self,
      conf: state.confState,
      wanted: wanted.replicas,
      isActive: (replica) => replica === self || this.#isActive(replica),
      isCaughtUp: (replica) => this.#rounds.get(replica)?.caughtUp === true,
    });
    switch (step.kind) {
      case 'wait':
        return;
      case 'transfer':
        this.#transfer(state.confState, step.to);
        return;
      case 'leaveJoint':
        this.#ground.propose({ transition: 'auto', steps: [], context: new Uint8Array(0) });
        return;
      case 'change':
        if (this.#ground.begin()) this.#propose(wanted.epoch, step);
        return;
      case 'done':
        this.#done(state, wanted);
    }
  }

  /** A tick after the change: who has not applied it yet does not campaign, and writes would wait. */
  #transfer(conf: ConfState, to: ReplicaId): void {
    if (this.#transferIn === conf) this.#ground.transfer(to);
    this.#transferIn = conf;
  }

  #done(state: ReplicaState, wanted: WantedMembers): void {
    if (state.epoch < wanted.epoch) {
      // Nothing to change, but whoever waits for this record must see that it is served.
      const steps = [{ kind: 'update', replica: this.#ground.self }] as const;
      this.#propose(wanted.epoch, { steps, transition: 'auto' });
      return;
    }
    this.#settled = { epoch: wanted.epoch, conf: state.confState };
    this.#rounds.clear();
    this.#ground.end();
  }

  #propose(epoch: Epoch, { steps, transition }: Omit<ConfChange, 'context'>): void {
    const context = encodeServedEpoch(epoch);
    // Refused while another change is on its way, or a transfer: the next tick tries again.
    const result = this.#ground.propose({ transition, steps, context });
    if (!result.ok) return;
    const change = steps.map(({ kind, replica }) => `${kind} ${replica}`).join(', ');
    this.#ground.logger.info('membership change proposed', { epoch, change });
  }

  #isActive(replica: ReplicaId): boolean {
    const last = this.#lastActive.get(replica);
    return last !== undefined && this.#ticks - last <= this.#ground.electionTicks;
  }

  #observe({ progress, lastIndex }: RaftStatus): void {
    for (const { replica, recentActive, learner, state, match } of progress) {
      if (recentActive) this.#lastActive.set(replica, this.#ticks);
      if (!learner) continue;
      const round = this.#rounds.get(replica);
      if (state !== 'replicate') this.#rounds.delete(replica);
      else if (round === undefined) this.#beginRound(replica, lastIndex);
      else if (match >= round.target) {
        round.caughtUp ||= this.#ticks - round.startedTick <= this.#ground.electionTicks;
        if (!round.caughtUp) this.#beginRound(replica, lastIndex);
      }
    }
  }

  #beginRound(replica: ReplicaId, target: LogIndex): void {
    this.#rounds.set(replica, { target, startedTick: this.#ticks, caughtUp: false });
  }
}
