/**
 * When the writes that have gathered on a node are proposed: together, whatever groups they are of.
 *
 * An entry costs its nodes much the same, whether it carries one command or sixteen: messages, writes
 * of logs, turns of event loops (700 µs of CPU for three replicas, and 50 for each command in it), and
 * entries of several groups that leave in one turn share most of that. Clients that wait for an answer
 * before they ask again come in cohorts: those who are answered together ask together. Two cohorts of
 * one node would stay apart for ever, each with entries of its own. So what comes while others are
 * under way waits for those, and then, for a moment, for those who have just been answered to come
 * back; from then on they are one cohort. Writes for groups that other nodes lead are of it, too
 * (`routing/joined-batches.ts`). Who is alone waits for nobody, what is enough to share the cost well
 * does not wait either, nobody waits longer for other groups than its own takes to answer, and a group
 * that is slow to answer is a cohort of its own.
 *
 * Rounds that confirm a leader for reads are no such matter: they are answered before the others come.
 */
import type { Clock } from '../../../common/clock.ts';
import { limits } from '../../../common/limits.ts';
import { LoneTimer } from '../../../common/lone-timer.ts';
import { Seat } from './cohort-seat.ts';
import { type Bounds, Patience } from './patience.ts';

type CohortClock = Pick<Clock, 'monotonicMs' | 'setTimer'>;

/** So many share the cost of their group's entry well enough, and so many of all groups. */
const ENOUGH = 64;
const ENOUGH_IN_ALL = 512;
/** So soon clients that were answered ask again, if they do. */
const RETURN_MS = 1;
/** Of those who were answered or waited then, so many are waited for; of up to nine, all. */
const RETURNING_SHARE = 0.9;
/** Timers know whole milliseconds. */
const LOOK_AGAIN_MS = 1;

/** What a group tells and asks of the cohort it belongs to. */
export interface Companion {
  /** How many commands wait to leave, and how many have left and are not answered. */
  note(waiting: number, underWay: number): void;
  /**
   * Asked only while some wait. True when they are to leave now, and with them those of other groups, in
   * the same turn; else a turn will come in which they may.
   */
  mayLeave(): boolean;
  /** Nobody waits here any more. */
  stop(): void;
}

/** All groups of a node: one cohort, and one for each group that is slow to answer. */
export class Cohorts {
  readonly #clock: CohortClock;
  readonly #patience: Patience;
  readonly #common: Cohort;

  /** Nobody waits longer than what `Patience` makes of `bounds`, and what the timer is late. */
  constructor(clock: CohortClock, bounds: Bounds = limits.cohortWait) {
    this.#clock = clock;
    this.#patience = new Patience(bounds);
    this.#common = new Cohort(clock, this.#patience, false);
  }

  /** `requestTurn` asks for a turn of the group's replica: this one, if it has not been in it yet. */
  join(requestTurn: () => void): Companion {
    const seat = new Seat(requestTurn);
    let cohort = this.#common;
    return {
      note: (waiting, underWay) => {
        cohort.note(seat, waiting, underWay);
        if (seat.isSlow === (cohort !== this.#common)) return;
        cohort.leave(seat);
        cohort = seat.isSlow ? new Cohort(this.#clock, this.#patience, true) : this.#common;
        cohort.enter(seat);
      },
      mayLeave: () => cohort.mayLeave(seat),
      stop: () => {
        cohort.leave(seat);
        seat.clear();
      },
    };
  }
}

class Cohort {
  readonly #clock: CohortClock;
  readonly #patience: Patience;
  readonly #isOfSlow: boolean;
  readonly #timer: LoneTimer;
  /** With commands that wait. */
  readonly #waiting = new Set<Seat>();
  /** With entries under way that are waited for. */
  readonly #underWay = new Set<Seat>();
  /** Commands that wait, and groups of which enough do. */
  #count = 0;
  #full = 0;
  /** When the first of those who wait has waited long enough. */
  #dueMs = Number.POSITIVE_INFINITY;
  #answeredMs = Number.NEGATIVE_INFINITY;
  /** Commands that were answered since some left last, and how many waited when the first of them were. */
  #answered = 0;
  #waitedThen = 0;

  /** In one that `isOfSlow` each is waited for, however long it takes to answer. */
  constructor(clock: CohortClock, patience: Patience, isOfSlow: boolean) {
    this.#clock = clock;
    this.#timer = new LoneTimer(clock);
    this.#patience = patience;
    this.#isOfSlow = isOfSlow;
  }

  /** The seat comes from another cohort, with those who wait there. */
  enter(seat: Seat): void {
    if (seat.underWay > 0) this.#underWay.add(seat);
    this.#countIn(seat, 1);
    if (seat.waiting > 0) this.#await(seat);
    this.#wakeOne();
  }

  leave(seat: Seat): void {
    this.#underWay.delete(seat);
    this.#countIn(seat, -1);
    this.#dismiss(seat);
    this.#wakeOne();
  }

  /** See Companion. */
  note(seat: Seat, waiting: number, underWay: number): void {
    const nowMs = this.#clock.monotonicMs();
    const left = underWay - seat.underWay;
    seat.underWay = underWay;
    if (left > 0) this.#onLeft(seat, left, nowMs);
    if (underWay === 0) this.#underWay.delete(seat);
    if (waiting !== seat.waiting) this.#onWaiting(seat, waiting, nowMs);
    if (left < 0) this.#onAnswered(seat, -left, nowMs);
    else if (this.#isLate(seat, nowMs)) seat.isSlow = true;
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

  #onLeft(seat: Seat, count: number, nowMs: number): void {
    seat.leave(count, nowMs);
    this.#answered = 0;
    this.#underWay.add(seat);
  }

  #onWaiting(seat: Seat, waiting: number, nowMs: number): void {
    if (seat.waiting === 0) seat.sinceMs = nowMs;
    this.#countIn(seat, -1);
    seat.waiting = waiting;
    this.#countIn(seat, 1);
    if (waiting > 0) this.#await(seat);
    else this.#dismiss(seat);
  }

  #countIn({ waiting }: Seat, times: 1 | -1): void {
    this.#count += times * waiting;
    if (waiting >= ENOUGH) this.#full += times;
  }

  #await(seat: Seat): void {
    if (this.#waiting.has(seat)) return;
    this.#waiting.add(seat);
    this.#dueMs = Math.min(this.#dueMs, seat.sinceMs + this.#boundOf(seat));
  }

  #dismiss(seat: Seat): void {
    seat.isReleased = false;
    this.#waiting.delete(seat);
    if (this.#waiting.size > 0) return;
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#timer.cancel();
  }

  #onAnswered(seat: Seat, count: number, nowMs: number): void {
    if (this.#answered === 0) this.#waitedThen = this.#count;
    this.#answered += count;
    this.#answeredMs = nowMs;
    seat.isSlow = this.#isLate(seat, nowMs);
    this.#patience.note(seat.underWayMs(nowMs));
    seat.answer(count, nowMs);
    this.#wakeOne();
  }

  #isToWait(nowMs: number): boolean {
    const isEnough = this.#full > 0 || this.#count >= ENOUGH_IN_ALL;
    if (isEnough || nowMs >= this.#dueMs) return false;
    if (this.#areUnderWay(nowMs)) return true;
    const expected = Math.ceil((this.#waitedThen + this.#answered) * RETURNING_SHARE);
    return this.#count < expected && nowMs - this.#answeredMs < RETURN_MS;
  }

  /** Who waits for other groups alone waits no longer for them than its own takes to answer. */
  #boundOf({ underWay, tookMs }: Seat): number {
    const { ms } = this.#patience;
    return underWay > 0 ? ms : Math.min(ms, tookMs);
  }

  #isLate(seat: Seat, nowMs: number): boolean {
    return seat.underWayMs(nowMs) >= this.#patience.ms;
  }

  /** Others left before and are waited for. */
  #areUnderWay(nowMs: number): boolean {
    for (const seat of this.#underWay) {
      if (this.#isOfSlow || !this.#isLate(seat, nowMs)) return true;
      seat.isSlow = true;
      this.#underWay.delete(seat);
    }
    return false;
  }

  /** The one who is asked asks for all; should it have nothing to ask for any more, another is, soon. */
  readonly #wakeOne = (): void => {
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#timer.ask(LOOK_AGAIN_MS, this.#wakeOne);
    first.requestTurn();
  };
}
