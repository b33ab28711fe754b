/**
 * To whom a leader sends an append at once, and to whom a few milliseconds later, together with what
 * comes meanwhile. Entries commit when a quorum has them, so while as few followers as complete one
 * acknowledge promptly, nobody waits for the others: what those cost (a message each way, a write of
 * their log, a turn of both event loops, for every entry) is paid once for many entries. That is a
 * matter of time alone: which appends are sent, and what is counted, stays as it is.
 *
 * Who is prompt is found by races: now and then an append goes to all at once, and those who
 * acknowledge it first are sent the next ones at once, unless who knows of other groups' races, too,
 * prefers others (`RaftConfig.judgeRace`). While a race is on, members change, leadership is
 * handed over, or one of the prompt is not what it was, everybody is sent everything at once.
 */
import type { LogIndex, ReplicaId } from '../../common/ids.ts';
import type { Core } from './core.ts';
import { NONE } from './message.ts';
import type { Progress } from './progress.ts';

/** Proposals between two races. */
const RACE_EVERY = 64;
/** A follower that lacks more entries is catching up: it gets them as fast as it can. */
const LATE_ENTRIES_MAX = 256;

export class Fanout {
  /** With this replica a quorum. */
  #prompt: readonly ReplicaId[] = [];
  #race: { readonly index: LogIndex; readonly finished: ReplicaId[] } | undefined;
  #proposals = 0;
  /** Somebody is to be sent something later. */
  isLate = false;

  /** Another term, or role. */
  reset(): void {
    this.#prompt = [];
    this.#race = undefined;
    this.#proposals = 0;
    this.isLate = false;
  }

  /** The leader has appended entries, which no follower has been sent. */
  onProposed(core: Core): void {
    if (core.config.appendFanout !== 'quorum' || this.#race !== undefined) return;
    this.#proposals++;
    if (this.#proposals < RACE_EVERY && this.#isSound(core)) return;
    this.#proposals = 0;
    this.#race = { index: core.log.lastIndex(), finished: [] };
  }

  /** `replica` has acknowledged all up to `index`. */
  onAcknowledged(core: Core, replica: ReplicaId, index: LogIndex): void {
    const race = this.#race;
    if (race === undefined || index < race.index || replica === core.id) return;
    if (race.finished.includes(replica) || !core.tracker.isVoter(replica)) return;
    race.finished.push(replica);
    if (race.finished.length < missingOf(core)) return;
    const raced = core.tracker.conf.voters.filter((voter) => voter !== core.id);
    this.#prompt = core.config.judgeRace?.(raced, race.finished) ?? race.finished;
    this.#race = undefined;
  }

  /** The next append to `replica` may leave later; whoever asks then leaves it to `sendLateAppends`. */
  mayWait(core: Core, replica: ReplicaId, progress: Progress): boolean {
    if (core.config.appendFanout !== 'quorum' || this.#race !== undefined) return false;
    if (progress.state !== 'replicate' || progress.learner) return false;
    if (core.log.lastIndex() - progress.match > LATE_ENTRIES_MAX) return false;
    if (core.leadTransferee !== NONE || this.#prompt.includes(replica)) return false;
    return this.#isSound(core) && this.#isAhead(core, progress.match);
  }

  /** What is acknowledged by all who are prompt is committed. */
  #isSound(core: Core): boolean {
    const { votersOutgoing } = core.tracker.conf;
    if (votersOutgoing.length > 0 || this.#prompt.length !== missingOf(core)) return false;
    for (const replica of this.#prompt) {
      const progress = core.tracker.progress(replica);
      if (progress?.state !== 'replicate' || progress.learner || !progress.heardLately)
        return false;
    }
    return core.tracker.isVoter(core.id);
  }

  /** Nobody who is sent entries later has more of them than one who is sent them at once. */
  #isAhead(core: Core, match: LogIndex): boolean {
    for (const replica of this.#prompt)
      if (core.tracker.member(replica).match < match) return false;
    return true;
  }
}

/** How many voters make a quorum with this one. */
function missingOf({ tracker }: Core): number {
  return Math.floor(tracker.conf.voters.length / 2);
}
