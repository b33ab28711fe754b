/**
 * The first replica of the wanted record should lead. A leader that is another hands over when that
 * one could take its place at once: a voter, heard from, no further behind than it makes up for in
 * a moment, on a node that can be reached and stays, all for an election timeout without a break.
 * After each try the next one waits longer, so that a replica that comes and goes, or never takes
 * over, costs little.
 */
import type { LogIndex, ReplicaId } from '../../../common/ids.ts';
import type { RaftStatus } from '../../raft/ready.ts';

export interface PreferenceView {
  readonly self: ReplicaId;
  /** The first replica of the newest wanted record. */
  readonly first: ReplicaId | undefined;
  /** The members are those of that record, and a quorum knows it. */
  readonly settled: boolean;
  readonly status: RaftStatus;
  /** Its node can be reached, and is not about to stop. */
  mayLead(replica: ReplicaId): boolean;
}

export interface PreferenceTiming {
  /** The first replica must be able to lead for this long. */
  readonly steadyTicks: number;
  /** What it is behind by must be made up for in this. */
  readonly catchUpTicks: number;
}

/** After a try; doubled with each try, up to 16 times, and forgotten after twice that. */
const WAIT_STEADY_TIMES = 2;
const WAIT_TIMES_MAX = 16;

/** An election timeout to see that it is there; a fifth of one to catch up in, while writes wait. */
export function preferenceTiming(electionTicks: number): PreferenceTiming {
  return { steadyTicks: electionTicks, catchUpTicks: Math.max(1, Math.floor(electionTicks / 5)) };
}

/** Whom leadership belongs to, when that is another who could lead; undefined: it may stay. */
export function wantedLeader({ self, first, status, mayLead }: PreferenceView) {
  if (first === undefined || first === self || !mayLead(first)) return undefined;
  const progress = status.progress.find(({ replica }) => replica === first);
  return progress === undefined || progress.learner ? undefined : progress;
}

interface Mark {
  readonly index: LogIndex;
  readonly tick: number;
}

export class LeaderPreference {
  readonly #timing: PreferenceTiming;
  readonly #jitter: (below: number) => number;
  #tick = 0;
  /** The log's end some ticks ago: whoever holds that is as far behind as these ticks. */
  #marks: Mark[] = [];
  #candidate: ReplicaId | undefined;
  /** Since when the candidate could lead, and for how long it must. */
  #sinceTick = 0;
  #steadyTicks = 0;
  #triedTick: number | undefined;
  #waitTimes = 1;

  /** `jitter` draws a whole number from 0 on, so that not all groups of a node move at once. */
  constructor(timing: PreferenceTiming, jitter: (below: number) => number) {
    this.#timing = timing;
    this.#jitter = jitter;
  }

  /** Once per tick, whoever leads: time goes on. */
  pass(): void {
    this.#tick++;
  }

  /** Once per tick of a leader: to whom leadership should be handed now. */
  decide(view: PreferenceView): ReplicaId | undefined {
    const { lastIndex } = view.status;
    this.#marks.push({ index: lastIndex, tick: this.#tick });
    while (this.#tick - this.#marks[0]!.tick > this.#timing.catchUpTicks) this.#marks.shift();
    const candidate = this.#candidateOf(view);
    if (candidate !== this.#candidate) {
      this.#candidate = candidate;
      this.#sinceTick = this.#tick;
      this.#steadyTicks = this.#timing.steadyTicks + this.#jitter(this.#timing.steadyTicks);
    }
    if (candidate === undefined || this.#tick - this.#sinceTick < this.#steadyTicks) {
      return undefined;
    }
    const progress = view.status.progress.find(({ replica }) => replica === candidate)!;
    const near = progress.recentActive && progress.match >= this.#marks[0]!.index;
    return near && !this.#mustWait() ? candidate : undefined;
  }

  /** Leadership was offered. */
  tried(): void {
    const waited = this.#triedTick === undefined ? 0 : this.#tick - this.#triedTick;
    const forgotten = waited > 2 * WAIT_TIMES_MAX * this.#waitTicks;
    const again = this.#triedTick !== undefined && !forgotten;
    this.#waitTimes = again ? Math.min(2 * this.#waitTimes, WAIT_TIMES_MAX) : 1;
    this.#triedTick = this.#tick;
    this.#candidate = undefined;
  }

  /** Leadership ended: the next one begins to look anew. */
  stepDown(): void {
    this.#marks = [];
    this.#candidate = undefined;
  }

  #candidateOf(view: PreferenceView): ReplicaId | undefined {
    if (!view.settled || view.status.leadTransferee !== 0) return undefined;
    const progress = wantedLeader(view);
    const keepsUp = progress?.state === 'replicate' && progress.heardLately;
    return keepsUp ? progress.replica : undefined;
  }

  #mustWait(): boolean {
    if (this.#triedTick === undefined) return false;
    return this.#tick - this.#triedTick < this.#waitTimes * this.#waitTicks;
  }

  get #waitTicks(): number {
    return WAIT_STEADY_TIMES * this.#timing.steadyTicks;
  }
}
