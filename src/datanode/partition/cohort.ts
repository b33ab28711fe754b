/**
 * When the writes that have gathered on a node are proposed: together, whatever groups they are of.
 *
 * An entry costs its nodes much the same, whether it carries one command or sixteen: messages, writes
 * of logs, turns of event loops (700 µs of CPU for three replicas, and 50 for each command in it), and
 * entries of several groups that leave in one turn share most of that. Clients that wait for an answer
 * before they ask again come in cohorts: those who are answered together ask together. Two cohorts of
 * one node would stay apart for ever, each with entries of its own. So what comes while others are
 * under way waits for those, and then, for a moment, for those who have just been answered to come
 * back; from then on they are one cohort. Who is alone waits for nobody, what is enough to share the
 * cost well does not wait either, and a group that is slow to answer is a cohort of its own.
 *
 * Rounds that confirm a leader for reads are no such matter: they are answered before the others come.
 */
import type { Clock } from '../../common/clock.ts';
import { LoneTimer } from '../../common/lone-timer.ts';

type CohortClock = Pick<Clock, 'monotonicMs' | 'setTimer'>;

/** So many share the cost of their entries well enough. */
const ENOUGH = 64;
/** So soon clients that were answered ask again, if they do. */
const RETURN_MS = 1;
/** Of those who were answered or waited then, so many are waited for; of up to nine, all. */
const RETURNING_SHARE = 0.9;
/** Timers know whole milliseconds. */
const LOOK_AGAIN_MS = 1;

/** One group's place in a cohort. */
interface Seat {
  readonly requestTurn: () => void;
  /** Commands that are not in an entry yet, and those that are and have no answer. */
  waiting: number;
  underWay: number;
  /** Since when the oldest of those who wait waits. */
  sinceMs: number;
  /** When an entry left last. */
  leftMs: number;
  /** It may leave, whoever comes. */
  isReleased: boolean;
  /** The last time others would have waited for it longer than they may. */
  isSlow: boolean;
}

/** What a group tells and asks of the cohort it belongs to. */
export interface Companion {
  /** How many commands wait to leave, and how many have left and are not answered. */
  note(waiting: number, underWay: number): void;
  /**
   * True when those who wait, some at least, are to leave now, and with them those of other groups, in
   * the same turn; else a turn will come in which they may.
   */
  mayLeave(): boolean;
  /** Nobody waits here any more. */
  stop(): void;
}

/** All groups of a node: one cohort, and one for each group that is slow to answer. */
export class Cohorts {
  readonly #clock: CohortClock;
  readonly #waitMaxMs: number;
  readonly #common: Cohort;

  /** Nobody waits longer than `waitMaxMs`. */
  constructor(clock: CohortClock, waitMaxMs: number) {
    this.#clock = clock;
    this.#waitMaxMs = waitMaxMs;
    this.#common = new Cohort(clock, waitMaxMs, waitMaxMs);
  }

  /** `requestTurn` asks for a turn of the group's replica: this one, if it has not been in it yet. */
  join(requestTurn: () => void): Companion {
    const seat: Seat = {
      ...{ requestTurn, waiting: 0, underWay: 0, sinceMs: 0, leftMs: 0 },
      ...{ isReleased: false, isSlow: false },
    };
    let cohort = this.#common;
    return {
      note: (waiting, underWay) => {
        cohort.note(seat, waiting, underWay);
        if (seat.isSlow === (cohort !== this.#common)) return;
        cohort.leave(seat);
        cohort = seat.isSlow ? new Cohort(this.#clock, this.#waitMaxMs, Infinity) : this.#common;
        cohort.enter(seat, waiting, underWay);
      },
      mayLeave: () => cohort.mayLeave(seat),
      stop: () => cohort.leave(seat),
    };
  }
}

class Cohort {
  readonly #clock: CohortClock;
  readonly #waitMaxMs: number;
  readonly #patienceMs: number;
  readonly #timer: LoneTimer;
  /** With commands that wait; the longest first. */
  readonly #waiting = new Set<Seat>();
  /** With entries under way; the first to leave first. */
  readonly #underWay = new Set<Seat>();
  /** Commands that wait. */
  #count = 0;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** Commands that were answered since some left last, and how many waited when the first of them were. */
  #answered = 0;
  #waitedThen = 0;

  /** Who has not answered after `patienceMs` is not waited for. */
  constructor(clock: CohortClock, waitMaxMs: number, patienceMs: number) {
    this.#clock = clock;
    this.#timer = new LoneTimer(clock);
    this.#waitMaxMs = waitMaxMs;
    this.#patienceMs = patienceMs;
  }

  enter(seat: Seat, waiting: number, underWay: number): void {
    seat.underWay = underWay;
    if (underWay > 0) this.#underWay.add(seat);
    const { sinceMs } = seat;
    this.#onWaiting(seat, waiting);
    seat.sinceMs = sinceMs;
  }

  leave(seat: Seat): void {
    this.#underWay.delete(seat);
    this.#onWaiting(seat, 0);
    this.#wakeOne();
  }

  /** See Companion. */
  note(seat: Seat, waiting: number, underWay: number): void {
    if (underWay > seat.underWay) this.#onLeft(seat);
    const answered = seat.underWay - underWay;
    seat.underWay = underWay;
    if (underWay === 0) this.#underWay.delete(seat);
    if (waiting !== seat.waiting) this.#onWaiting(seat, waiting);
    if (answered > 0) this.#onAnswered(seat, answered);
    else if (underWay > 0 && this.#isLate(seat)) seat.isSlow = true;
  }

  /** See Companion. */
  mayLeave(seat: Seat): boolean {
    if (seat.isReleased) return true;
    if (this.#isToWait(this.#clock.monotonicMs())) {
      this.#timer.ask(LOOK_AGAIN_MS, this.#wakeOne);
      return false;
    }
    for (const other of this.#waiting) {
      other.isReleased = true;
      if (other !== seat) other.requestTurn();
    }
    return true;
  }

  #onLeft(seat: Seat): void {
    seat.leftMs = this.#clock.monotonicMs();
    this.#answered = 0;
    this.#underWay.delete(seat);
    this.#underWay.add(seat);
  }

  #onWaiting(seat: Seat, waiting: number): void {
    if (seat.waiting === 0) seat.sinceMs = this.#clock.monotonicMs();
    this.#count += waiting - seat.waiting;
    seat.waiting = waiting;
    if (waiting > 0) this.#waiting.add(seat);
    else {
      seat.isReleased = false;
      this.#waiting.delete(seat);
    }
  }

  #onAnswered(seat: Seat, count: number): void {
    if (this.#answered === 0) this.#waitedThen = this.#count;
    this.#answered += count;
    this.#answeredMs = this.#clock.monotonicMs();
    seat.isSlow = this.#isLate(seat);
    this.#wakeOne();
  }

  #isToWait(nowMs: number): boolean {
    const [oldest] = this.#waiting;
    const waitedMs = nowMs - oldest!.sinceMs;
    if (this.#count >= ENOUGH || waitedMs >= this.#waitMaxMs) return false;
    if (this.#areUnderWay(nowMs)) return true;
    const expected = Math.ceil((this.#waitedThen + this.#answered) * RETURNING_SHARE);
    return this.#count < expected && nowMs - this.#answeredMs < RETURN_MS;
  }

  #isLate({ leftMs }: Seat): boolean {
    return this.#clock.monotonicMs() - leftMs >= this.#waitMaxMs;
  }

  /** Others left before and are waited for. */
  #areUnderWay(nowMs: number): boolean {
    for (const seat of this.#underWay) {
      if (nowMs - seat.leftMs < this.#patienceMs) return true;
      seat.isSlow = true;
      this.#underWay.delete(seat);
    }
    return false;
  }

  /** The one who is asked asks for all. */
  readonly #wakeOne = (): void => {
    const [first] = this.#waiting;
    first?.requestTurn();
  };
}
