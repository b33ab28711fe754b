/**
 * An idle group sleeps (decision 19): nobody ticks, nobody sends heartbeats. Its leader offers it
 * when nothing has happened for a while and every member on a reachable node holds all there is; it
 * sleeps when each of them has agreed to sleep at the same index and commit. Whatever comes wakes a
 * replica again, with its timers started anew; the lives of the nodes are watched node by node. A
 * follower that wakes by itself wakes its leader, too: else its time would run out, and that of the
 * others that woke with it, while the leader sleeps well.
 */
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import { NONE, type PeerMessage, type SleepMessage } from '../../raft/message.ts';
import type { RaftNode } from '../../raft/ready.ts';

export interface SleepGround {
  readonly self: ReplicaId;
  readonly raft: RaftNode;
  /** Quiet ticks before a leader offers sleep; 0: this group never sleeps. */
  readonly afterTicks: number;
  /** Nothing waits, changes or is being applied here. */
  isIdle(): boolean;
  isReachable(member: ReplicaId): boolean;
  send(message: SleepMessage): void;
}

/** An offer that is not taken up by all within this is withdrawn. */
const OFFER_TICKS = 3;

interface Offer {
  readonly index: LogIndex;
  readonly waitingFor: Set<ReplicaId>;
  ticksLeft: number;
}

export class Sleep {
  readonly #ground: SleepGround;
  #asleep = false;
  #offer: Offer | undefined;
  #quietTicks = 0;
  #lastIndex: LogIndex = 0;

  constructor(ground: SleepGround) {
    this.#ground = ground;
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  /** Once per tick; true when the replica's other clocks stand still in it. */
  tick(): boolean {
    if (this.#asleep) return true;
    if (this.#offer !== undefined) {
      if (--this.#offer.ticksLeft > 0) return true;
      this.wake();
    }
    const { raft, afterTicks } = this.#ground;
    if (raft.role !== 'leader' || afterTicks === 0) return false;
    this.#quietTicks = this.#isQuiet() ? this.#quietTicks + 1 : 0;
    if (this.#quietTicks < afterTicks) return false;
    this.#quietTicks = 0;
    return this.#offerSleep();
  }

  /** A request, or a message that asks for something: the group is needed. */
  wake(): void {
    const alone = this.#asleep && this.#ground.raft.role === 'follower';
    this.#rise();
    if (alone) this.#wakeLeader();
  }

  /** Late answers to what was sent before the group fell asleep do not wake it. */
  onMessage({ type, from }: PeerMessage): void {
    if (type === 'appendResponse' || type === 'heartbeatResponse') return;
    if (from === this.#ground.raft.leader) this.#rise();
    else this.wake();
  }

  onSleepMessage(message: SleepMessage): void {
    if (message.type === 'sleep') this.#onOffer(message);
    else this.#onAnswer(message);
  }

  #isQuiet(): boolean {
    const { raft, isIdle } = this.#ground;
    const moved = raft.committed !== this.#lastIndex;
    this.#lastIndex = raft.committed;
    return !moved && isIdle();
  }

  #offerSleep(): boolean {
    const { raft, self, send } = this.#ground;
    const status = raft.status();
    const { lastIndex, confState, progress } = status;
    const { commit } = status.hardState;
    if (commit !== lastIndex || status.applied !== lastIndex || status.leadTransferee !== 0) {
      return false;
    }
    if (confState.votersOutgoing.length > 0) return false;
    const waitingFor = new Set<ReplicaId>();
    let voters = 0;
    for (const { replica, match, state, learner } of progress) {
      if (replica !== self && !this.#ground.isReachable(replica)) continue;
      if (match !== lastIndex || (replica !== self && state !== 'replicate')) return false;
      if (!learner) voters++;
      if (replica !== self) waitingFor.add(replica);
    }
    if (voters <= confState.voters.length / 2) return false;
    this.#offer = { index: lastIndex, waitingFor, ticksLeft: OFFER_TICKS };
    for (const to of waitingFor) {
      send({ type: 'sleep', from: self, to, term: raft.term, index: lastIndex, commit });
    }
    if (waitingFor.size === 0) this.#fallAsleep();
    return true;
  }

  /** A follower sleeps when it holds what the leader says there is, and nothing else. */
  #onOffer({ from, term, index, commit }: Extract<SleepMessage, { type: 'sleep' }>): void {
    const { raft, self, send, isIdle } = this.#ground;
    const { lastIndex, applied } = raft.status();
    const agrees =
      raft.role === 'follower' &&
      raft.term === term &&
      raft.leader === from &&
      lastIndex === index &&
      raft.committed === commit &&
      applied === commit &&
      isIdle();
    if (agrees) this.#fallAsleep();
    send({ type: 'asleep', from: self, to: from, term, index, reject: !agrees });
  }

  #onAnswer({ from, term, index, reject }: Extract<SleepMessage, { type: 'asleep' }>): void {
    if (term !== this.#ground.raft.term) return;
    if (reject) {
      // it does not sleep, or was woken by itself: whether or not it had agreed to the offer
      this.#rise();
      return;
    }
    const offer = this.#offer;
    // it sleeps, and this replica does not: the next heartbeat wakes it
    if (offer === undefined || index !== offer.index) return;
    offer.waitingFor.delete(from);
    if (offer.waitingFor.size === 0) this.#fallAsleep();
  }

  #rise(): void {
    this.#quietTicks = 0;
    if (!this.#asleep && this.#offer === undefined) return;
    this.#asleep = false;
    this.#offer = undefined;
    this.#ground.raft.restartTimers();
  }

  /** As one that does not agree to sleep: the leader's next heartbeat wakes the others. */
  #wakeLeader(): void {
    const { raft, self, send } = this.#ground;
    const { leader: to, term } = raft;
    if (to !== NONE) send({ type: 'asleep', from: self, to, term, index: 0, reject: true });
  }

  #fallAsleep(): void {
    this.#offer = undefined;
    this.#asleep = true;
  }
}
