/**
 * What a leader knows of one follower, and what it may send it next.
 *
 * probe: the last common entry is being looked for; one append at a time.
 * replicate: appends are sent ahead of their acknowledgements, within the in-flight window.
 * snapshot: the follower is behind the log; nothing is sent until the snapshot has arrived.
 *
 * Invariants: match < next; in state replicate the entries in (match, next) are in flight.
 */
import { assert } from '../../common/assert.ts';
import type { LogIndex } from '../../common/ids.ts';
import type { Inflights } from './inflights.ts';
import type { ProgressState, ProgressStatus } from './ready.ts';

export class Progress {
  state: ProgressState = 'probe';
  /** Highest entry known to be durable at the follower. */
  match: LogIndex = 0;
  /** The first entry of the next append. */
  next: LogIndex;
  learner: boolean;
  /** It was heard from since the last check of the quorum. */
  recentActive: boolean;
  /**
   * It was heard from, or took a snapshot whole, since the last check of the quorum but one: what
   * `recentActive` says, without the gap between each check and the next answer.
   */
  heardLately: boolean;
  /** The index of the snapshot on its way; 0 unless state is snapshot. */
  pendingSnapshot: LogIndex = 0;
  /** No append with entries until something is heard from the follower. */
  flowPaused = false;
  readonly inflights: Inflights;
  /** The highest commit index the follower will know if all that was sent arrives. */
  #sentCommit: LogIndex = 0;

  constructor(next: LogIndex, learner: boolean, recentActive: boolean, inflights: Inflights) {
    this.next = next;
    this.learner = learner;
    this.recentActive = recentActive;
    this.heardLately = recentActive;
    this.inflights = inflights;
  }

  /** True when nothing may be sent now. */
  get paused(): boolean {
    return this.state === 'snapshot' || this.flowPaused;
  }

  /** Starts anew under a new term or role. */
  reset(match: LogIndex, next: LogIndex): void {
    this.#enter('probe');
    this.match = match;
    this.next = next;
    this.recentActive = false;
    this.heardLately = false;
    this.#sentCommit = 0;
  }

  heard(): void {
    this.recentActive = true;
    this.heardLately = true;
  }

  /** The quorum was checked: what was heard until now is the past. */
  beginCheck(): void {
    this.heardLately = this.recentActive;
    this.recentActive = false;
  }

  becomeProbe(): void {
    const next = this.state === 'snapshot' ? this.pendingSnapshot + 1 : 0;
    this.#enter('probe');
    this.next = Math.max(this.match + 1, next);
    this.#sentCommit = Math.min(this.#sentCommit, this.next - 1);
  }

  becomeReplicate(): void {
    this.#enter('replicate');
    this.next = this.match + 1;
  }

  becomeSnapshot(index: LogIndex): void {
    this.#enter('snapshot');
    this.pendingSnapshot = index;
    this.next = index + 1;
    this.#sentCommit = index;
  }

  /** Notes an append just sent: `count` entries with `bytes` of data, starting at `next`. */
  sentEntries(count: number, bytes: number): void {
    assert(this.state !== 'snapshot', 'no append is sent while a snapshot is on its way');
    if (this.state === 'probe') {
      if (count > 0) this.flowPaused = true;
      return;
    }
    if (count > 0) {
      this.next += count;
      this.inflights.add(this.next - 1, bytes);
    }
    this.flowPaused = this.inflights.full;
  }

  sentCommit(commit: LogIndex): void {
    this.#sentCommit = commit;
  }

  /** True when sending `commit` again would teach the follower something. */
  canBumpCommit(commit: LogIndex): boolean {
    return commit > this.#sentCommit && this.#sentCommit < this.next - 1;
  }

  /** An acknowledgement up to `index`. Returns whether it is news. */
  maybeUpdate(index: LogIndex): boolean {
    if (index <= this.match) return false;
    this.match = index;
    this.next = Math.max(this.next, index + 1);
    this.flowPaused = false;
    return true;
  }

  /**
   * The append after `rejected` was refused and the logs may agree up to `hint`. Returns whether
   * that was news; stale refusals are not.
   */
  maybeDecrease(rejected: LogIndex, hint: LogIndex): boolean {
    if (this.state === 'replicate') {
      if (rejected <= this.match) return false;
      this.next = this.match + 1;
    } else {
      if (this.next - 1 !== rejected) return false;
      this.next = Math.max(Math.min(rejected, hint + 1), this.match + 1);
      this.flowPaused = false;
    }
    this.#sentCommit = Math.min(this.#sentCommit, this.next - 1);
    return true;
  }

  status(): Omit<ProgressStatus, 'replica'> {
    const { state, match, next, learner, recentActive, heardLately } = this;
    const { paused, pendingSnapshot, inflights } = this;
    return {
      state,
      match,
      next,
      learner,
      recentActive,
      heardLately,
      paused,
      pendingSnapshot,
      inflight: inflights.count,
      inflightFull: inflights.full,
    };
  }

  #enter(state: ProgressState): void {
    this.state = state;
    this.flowPaused = false;
    this.pendingSnapshot = 0;
    this.inflights.clear();
  }
}
