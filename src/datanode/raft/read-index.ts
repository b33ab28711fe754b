/**
 * Linearizable reads without a log entry (thesis 6.4): the commit index at the time of asking is
 * good for a read once a quorum has answered a heartbeat sent after the asking.
 *
 * Rounds are numbered by one counter that never goes back, so an answer to round n confirms every
 * read up to n, and a late answer can never confirm a later read. Answers count for this group and
 * term only: `reset` forgets them at every change of term or role.
 *
 * Lease: a round that a quorum answered with promises also proves that no other leader can be elected
 * for a while after it was *sent*: see lease.ts. After a change of members, or a sleep, only rounds
 * sent since then count.
 */
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { Random } from '../../common/random.ts';
import type { Moment } from './lease.ts';
import type { PeerMessage } from './message.ts';
import { jointCommitted, jointVote, type Quorum } from './quorum.ts';

/** A follower's read: its own number, to be sent back with the index. */
export interface ForwardedRead {
  readonly replica: ReplicaId;
  readonly readContext: number;
}

/** A member's answer to the round `readContext`. */
export interface RoundAnswer {
  readonly from: ReplicaId;
  readonly readContext: number;
  readonly promised: boolean;
}

export interface ReadRound {
  readonly number: number;
  /** Reads of the round are served at this index. */
  readonly index: LogIndex;
  readonly sentTick: number;
  /** Taken before it is sent; undefined where there are no leases. */
  readonly sentAt: Moment | undefined;
  /** False for rounds that only renew the lease. */
  readonly hasReads: boolean;
  /** One per follower: its newest read. */
  readonly forwarded: readonly ForwardedRead[];
}

/** Rounds waiting for answers; beyond, the oldest joins the next (a later answer confirms both). */
const ROUNDS_MAX = 64;
/** Space for the random start of the counter, so that it differs between runs of one replica. */
const COUNTER_START_STEP = 2 ** 20;

export class ReadIndex {
  #counter: number;
  /** Reads that no round carries yet. */
  #open = false;
  #openForwarded = new Map<ReplicaId, number>();
  #rounds: ReadRound[] = [];
  readonly #answers = new Map<ReplicaId, number>();
  /** Of those answers the newest that came with a promise. */
  readonly #promises = new Map<ReplicaId, number>();
  #leaseStart: Moment | undefined;
  /** Rounds up to this one begin no lease. */
  #leaseAfter = 0;
  #leaseBanned = false;

  constructor(random: Random) {
    this.#counter = random.u32() * COUNTER_START_STEP;
  }

  /** Forgets everything that belonged to the former term or role; the counter goes on. */
  reset(): void {
    this.#open = false;
    this.#openForwarded = new Map();
    this.#rounds = [];
    this.#answers.clear();
    this.#promises.clear();
    this.endLease();
    this.#leaseBanned = false;
  }

  /** The group slept, or has other members: rounds that are sent from now on decide anew. */
  endLease(): void {
    this.#leaseStart = undefined;
    this.#leaseAfter = this.#counter;
  }

  /** A local read joins the round that is being gathered. Returns that round's number. */
  request(): number {
    this.#open = true;
    return this.#counter + 1;
  }

  /** A follower's read joins the round that is being gathered. */
  requestFor(replica: ReplicaId, readContext: number): void {
    const known = this.#openForwarded.get(replica) ?? 0;
    this.#openForwarded.set(replica, Math.max(known, readContext));
  }

  /** A number for a read that is sent to the leader. */
  nextNumber(): number {
    return ++this.#counter;
  }

  /** Not one of a life before this, which began at another random place. */
  hasGiven(number: number): boolean {
    return number <= this.#counter;
  }

  hasOpen(): boolean {
    return this.#open || this.#openForwarded.size > 0;
  }

  /** The number a heartbeat carries: that of the newest round waiting for answers; 0: none. */
  lastWaiting(): number {
    return this.#rounds[this.#rounds.length - 1]?.number ?? 0;
  }

  /** True when a round sent before `tick` still waits. */
  isOverdue(tick: number): boolean {
    const [oldest] = this.#rounds;
    return oldest !== undefined && oldest.sentTick < tick;
  }

  /** As few voters as make a quorum with `self`: those who answered the newest rounds. */
  quickest(self: ReplicaId, quorum: Quorum): ReplicaId[] {
    const { voters, votersOutgoing } = quorum;
    if (votersOutgoing.length > 0) return this.#quickestOfBoth(self, quorum);
    const missing = Math.floor(voters.length / 2) + (voters.includes(self) ? 0 : 1);
    const asked: ReplicaId[] = [];
    while (asked.length < missing) {
      let next = self;
      let newest = -1;
      for (let at = 0; at < voters.length; at++) {
        const voter = voters[at]!;
        if (voter === self || asked.includes(voter)) continue;
        const answered = this.#answers.get(voter) ?? 0;
        if (answered <= newest) continue;
        next = voter;
        newest = answered;
      }
      asked.push(next);
    }
    return asked;
  }

  /** Of each half of a joint configuration a quorum. */
  #quickestOfBoth(self: ReplicaId, quorum: Quorum): ReplicaId[] {
    const { voters, votersOutgoing } = quorum;
    const others = [...new Set([...voters, ...votersOutgoing])].filter((id) => id !== self);
    const answered = (voter: ReplicaId) => this.#answers.get(voter) ?? 0;
    others.sort((a, b) => answered(b) - answered(a));
    const asked = new Map([[self, true]]);
    for (const voter of others) {
      if (jointVote(quorum, asked) === 'won') break;
      asked.set(voter, true);
    }
    asked.delete(self);
    return [...asked.keys()];
  }

  /** Closes the gathered round: it is served at `index` once confirmed. */
  close(index: LogIndex, tick: number, sentAt: Moment | undefined): ReadRound {
    const forwarded: ForwardedRead[] = [];
    for (const [replica, readContext] of this.#openForwarded) {
      forwarded.push({ replica, readContext });
    }
    const round = {
      number: ++this.#counter,
      index,
      sentTick: tick,
      sentAt,
      hasReads: this.#open,
      forwarded,
    };
    this.#open = false;
    this.#openForwarded = new Map();
    return round;
  }

  /** A round that serves no read: its answers renew the lease. */
  renew(index: LogIndex, tick: number, sentAt: Moment): void {
    const number = ++this.#counter;
    this.wait({ number, index, sentTick: tick, sentAt, hasReads: false, forwarded: [] });
  }

  /** `round` was sent to the peers and waits for their answers. */
  wait(round: ReadRound): void {
    this.#rounds.push(round);
    if (this.#rounds.length <= ROUNDS_MAX) return;
    const [oldest, next, ...rest] = this.#rounds;
    this.#rounds = [joinRounds(oldest!, next!), ...rest];
  }

  /**
   * Takes an answer. Returns the rounds that a quorum has now confirmed, oldest first; `self` answers
   * every round.
   */
  answer(
    self: ReplicaId,
    quorum: Quorum,
    { from, readContext, promised }: RoundAnswer,
  ): ReadRound[] {
    if (readContext > this.#counter || readContext <= (this.#answers.get(from) ?? 0)) return [];
    this.#answers.set(from, readContext);
    if (promised) this.#promises.set(from, readContext);
    const newest = (answers: ReadonlyMap<ReplicaId, number>) =>
      jointCommitted(quorum, (voter) => (voter === self ? this.#counter : answers.get(voter)));
    const confirmed = newest(this.#answers);
    let count = 0;
    while (count < this.#rounds.length && this.#rounds[count]!.number <= confirmed) count++;
    if (count === 0) return [];
    const rounds = this.#rounds.splice(0, count);
    this.#beginLease(rounds[count - 1]!, newest(this.#promises));
    return rounds;
  }

  /** `promised`: the newest round that a quorum answered with promises. */
  #beginLease({ number, sentAt }: ReadRound, promised: number): void {
    if (sentAt === undefined || number > promised || number <= this.#leaseAfter) return;
    this.#leaseStart = sentAt;
  }

  /** When the newest confirmed round was sent; undefined: there is no lease. */
  get leaseStart(): Moment | undefined {
    return this.#leaseBanned ? undefined : this.#leaseStart;
  }

  /** A transfer lets voters vote in spite of the lease: there is none for the rest of the term. */
  banLease(): void {
    this.#leaseBanned = true;
  }
}

/** The answer to a follower's read. */
export function readIndexResponse(
  from: ReplicaId,
  term: number,
  index: LogIndex,
  read: ForwardedRead,
): PeerMessage {
  const { replica, readContext } = read;
  return { type: 'readIndexResponse', from, to: replica, term, readContext, index };
}

function joinRounds(older: ReadRound, newer: ReadRound): ReadRound {
  const forwarded = new Map<ReplicaId, number>();
  for (const read of [...older.forwarded, ...newer.forwarded]) {
    forwarded.set(read.replica, Math.max(read.readContext, forwarded.get(read.replica) ?? 0));
  }
  const { number, index, sentTick, sentAt } = newer;
  return {
    number,
    index,
    sentTick,
    sentAt,
    hasReads: older.hasReads || newer.hasReads,
    forwarded: [...forwarded].map(([replica, readContext]) => ({ replica, readContext })),
  };
}
