/**
 * What a replica does with its leadership: brings the members to those that are wanted, and hands
 * over to the one that should lead. A transfer lets the other catch up while writes wait, and is
 * given up after an election timeout (thesis 3.10).
 */
import type { ReplicaId } from '../../../common/ids.ts';
import { NONE } from '../../raft/message.ts';
import type { RaftNode } from '../../raft/ready.ts';
import {
  type Convergence,
  type ConvergenceGround,
  createConvergence,
} from '../members/convergence.ts';
import type { ReplicaWorld } from '../replica/replica-world.ts';
import { handOverRequest, successors } from './hand-over.ts';
import {
  LeaderPreference,
  type PreferenceView,
  preferenceTiming,
  wantedLeader,
} from './leader-preference.ts';

/** How far learners are is told this often at most. */
const PROGRESS_MS = 1_000;

export interface LeadershipGround extends Pick<ConvergenceGround, 'state'> {
  /** There is news of the members. */
  tell(): void;
}

export class Leadership {
  readonly #world: ReplicaWorld;
  readonly #self: ReplicaId;
  readonly #raft: RaftNode;
  readonly #convergence: Convergence;
  readonly #preference: LeaderPreference;
  /** To whom it was offered; the node counts it until that has ended. */
  #offeredTo: ReplicaId = NONE;
  readonly #tell: () => void;
  #toldMs = Number.NEGATIVE_INFINITY;

  constructor(world: ReplicaWorld, self: ReplicaId, raft: RaftNode, own: LeadershipGround) {
    this.#tell = own.tell;
    this.#world = world;
    this.#self = self;
    this.#raft = raft;
    const ground = { state: own.state, onConfirmed: own.tell };
    this.#convergence = createConvergence(world, self, raft, ground);
    const timing = preferenceTiming(world.settings.electionTicks);
    this.#preference = new LeaderPreference(timing, (below) => world.random.below(below));
  }

  /** See `Convergence.confirmed`. */
  get confirmed(): boolean {
    return this.#convergence.confirmed;
  }

  /** Nothing is left to do or to wait for: a leader may sleep. */
  get finished(): boolean {
    return this.#convergence.finished && wantedLeader(this.#view()) === undefined;
  }

  /** Once per tick. */
  tick(): void {
    this.#preference.pass();
    if (this.#raft.role !== 'leader') return;
    this.#convergence.tick();
    const view = this.#view();
    if (view.status.confState.learners.length > 0) this.#tellProgress();
    if (this.#offeredTo !== NONE) {
      if (view.status.leadTransferee !== NONE) return;
      this.#world.logger.info('leadership was not taken over', { by: this.#offeredTo });
      this.#offered(NONE);
    }
    const to = this.#preference.decide(view);
    if (to === undefined || !this.#world.beginTransfer()) return;
    this.#preference.tried();
    this.#world.logger.info('leadership is handed to the replica that should lead', { to });
    this.#offer(to);
  }

  /** Hands over to the best of those that may lead and are not in `tried`; NONE: there is none. */
  giveAway(tried: ReadonlySet<ReplicaId>): ReplicaId {
    const wanted = this.#world.wanted().replicas;
    const to = successors(this.#self, this.#raft.status(), wanted).find(
      (replica) => !tried.has(replica) && this.#world.mayLead(replica),
    );
    if (to !== undefined) this.#offer(to);
    return to ?? NONE;
  }

  /**
   * Before the replica has to go: it cannot wait for what becomes of it. One that stays for a moment
   * takes no more writes: another voter could get them, and then know more than the one that was
   * asked to take over.
   */
  handOver(then?: 'takes no more'): void {
    const request = handOverRequest(this.#self, this.#raft.status());
    if (request === undefined) return;
    this.#raft.banLease();
    this.#world.send(request);
    if (then !== undefined) this.#raft.transferLeader(request.to);
  }

  /** Leadership ended. */
  stepDown(): void {
    this.#offered(NONE);
    this.#preference.stepDown();
    this.#convergence.stepDown();
  }

  #tellProgress(): void {
    const nowMs = this.#world.clock.monotonicMs();
    if (nowMs - this.#toldMs < PROGRESS_MS) return;
    this.#toldMs = nowMs;
    this.#tell();
  }

  #offer(to: ReplicaId): void {
    this.#raft.transferLeader(to);
    this.#offered(to);
  }

  #offered(to: ReplicaId): void {
    if (to === NONE && this.#offeredTo !== NONE) this.#world.endTransfer();
    this.#offeredTo = to;
  }

  #view(): PreferenceView {
    return {
      self: this.#self,
      first: this.#world.wanted().replicas[0],
      settled: this.#convergence.finished,
      status: this.#raft.status(),
      mayLead: (replica) => this.#world.mayLead(replica),
    };
  }
}
