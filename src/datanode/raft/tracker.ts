/** The configuration a replica acts under, and a leader's progress of every member of it. */
import { assert } from '../../common/assert.ts';
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import { checkedConf, EMPTY_CONF, members } from './conf-change.ts';
import { Inflights } from './inflights.ts';
import type { ConfState } from './message.ts';
import { Progress } from './progress.ts';
import { isVoter, jointCommitted, jointVote, type VoteResult } from './quorum.ts';

export class Tracker {
  readonly #inflightMessagesMax: number;
  readonly #inflightBytesMax: number;
  readonly #progress = new Map<ReplicaId, Progress>();
  readonly #votes = new Map<ReplicaId, boolean>();
  readonly #match = (replica: ReplicaId) => this.#progress.get(replica)?.match;
  #conf: ConfState = EMPTY_CONF;
  #members: readonly ReplicaId[] = [];

  constructor(inflightMessagesMax: number, inflightBytesMax: number) {
    this.#inflightMessagesMax = inflightMessagesMax;
    this.#inflightBytesMax = inflightBytesMax;
  }

  get conf(): ConfState {
    return this.#conf;
  }

  /** Everybody in the configuration, ascending. */
  get members(): readonly ReplicaId[] {
    return this.#members;
  }

  progress(replica: ReplicaId): Progress | undefined {
    return this.#progress.get(replica);
  }

  /** The progress of a member. */
  member(replica: ReplicaId): Progress {
    const progress = this.#progress.get(replica);
    assert(progress !== undefined, () => `replica ${replica} is a member`);
    return progress;
  }

  /** Acts under `conf` from now on: new members are probed from `lastIndex`, leavers forgotten. */
  switchTo(conf: ConfState, lastIndex: LogIndex): void {
    this.#conf = checkedConf(conf);
    this.#members = members(this.#conf);
    const present = new Set(this.#members);
    for (const replica of [...this.#progress.keys()]) {
      if (!present.has(replica)) this.#progress.delete(replica);
    }
    for (const replica of this.#members) {
      const learner = this.#conf.learners.includes(replica);
      const known = this.#progress.get(replica);
      if (known === undefined) {
        // A member counts as active at first: a new one must not unseat the leader at once.
        const inflights = new Inflights(this.#inflightMessagesMax, this.#inflightBytesMax);
        const next = Math.max(lastIndex, 1);
        this.#progress.set(replica, new Progress(next, learner, true, inflights));
      } else {
        known.learner = learner;
      }
    }
  }

  /** Forgets every member's progress; `switchTo` then starts it anew. */
  clear(): void {
    this.#progress.clear();
  }

  /** The highest index that a quorum holds durably. */
  committed(): LogIndex {
    return jointCommitted(this.#conf, this.#match);
  }

  /** True when this replica alone decides. */
  isSingleton(self: ReplicaId): boolean {
    const { voters, votersOutgoing } = this.#conf;
    return votersOutgoing.length === 0 && voters.length === 1 && voters[0] === self;
  }

  isVoter(replica: ReplicaId): boolean {
    return isVoter(this.#conf, replica);
  }

  /** True when a quorum was heard from since the last check. */
  quorumActive(): boolean {
    const active = new Map<ReplicaId, boolean>();
    for (const [replica, progress] of this.#progress) {
      if (!progress.learner) active.set(replica, progress.recentActive);
    }
    return jointVote(this.#conf, active) === 'won';
  }

  resetVotes(): void {
    this.#votes.clear();
  }

  /** Counts the first answer of `replica`. */
  recordVote(replica: ReplicaId, granted: boolean): void {
    if (!this.#votes.has(replica)) this.#votes.set(replica, granted);
  }

  tally(): { granted: number; rejected: number; result: VoteResult } {
    let granted = 0;
    let rejected = 0;
    for (const [replica, vote] of this.#votes) {
      if (!isVoter(this.#conf, replica)) continue;
      if (vote) granted++;
      else rejected++;
    }
    return { granted, rejected, result: jointVote(this.#conf, this.#votes) };
  }
}
