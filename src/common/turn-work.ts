/**
 * What has been worked in this turn of the event loop, by all who share a clock: commands, and the
 * engines that take over what these have written. Each has a measure of its own, and while engines
 * are at it, commands have half of theirs: the two together stay at one measure.
 *
 * A turn ends where the clock says; what comes of the work must not depend on it.
 */
import type { Clock } from './clock.ts';
import { limits } from './limits.ts';

type TurnClock = Pick<Clock, 'monotonicMs' | 'endOfTurn'>;

const HANDED_MS = limits.workMs / 2;

export class TurnWork {
  readonly #clock: TurnClock;
  /** When work began in this turn; undefined: none has. */
  #sinceMs: number | undefined;
  #turns = 0;
  /** What engines had of it. */
  #handedMs = 0;
  /** Engines that take over operations, in this turn and later ones. */
  #handing = 0;

  constructor(clock: TurnClock) {
    this.#clock = clock;
  }

  /** Work begins in this turn; says which one it is, of those that had work. */
  begin(): number {
    if (this.#sinceMs !== undefined) return this.#turns;
    this.#turns++;
    this.#sinceMs = this.#clock.monotonicMs();
    this.#handedMs = 0;
    this.#clock.endOfTurn(() => {
      this.#sinceMs = undefined;
    });
    return this.#turns;
  }

  /** Commands have had their measure of this turn; false before `begin`. */
  get isCommandsOver(): boolean {
    if (this.#sinceMs === undefined) return false;
    const spentMs = this.#clock.monotonicMs() - this.#sinceMs - this.#handedMs;
    const othersMs = this.#handing > 0 ? HANDED_MS : Math.min(this.#handedMs, HANDED_MS);
    return spentMs >= limits.workMs - othersMs;
  }

  /** An engine begins, or ends, to take over operations that may need several turns. */
  beginHanding(): void {
    this.#handing++;
  }

  endHanding(): void {
    this.#handing--;
  }

  /** Engines have had their measure, one of them since `sinceMs`. */
  isHandedOver(sinceMs: number): boolean {
    return this.#handedMs + this.#clock.monotonicMs() - sinceMs >= HANDED_MS;
  }

  /** One of them was at it from `sinceMs` until now. */
  noteHanded(sinceMs: number): void {
    if (this.#sinceMs !== undefined) this.#handedMs += this.#clock.monotonicMs() - sinceMs;
  }
}

const works = new WeakMap<TurnClock, TurnWork>();

/** The one of all who share `clock`. */
export function turnWorkOf(clock: TurnClock): TurnWork {
  let work = works.get(clock);
  if (work === undefined) {
    work = new TurnWork(clock);
    works.set(clock, work);
  }
  return work;
}
