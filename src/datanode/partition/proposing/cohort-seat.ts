/** One group's place in a cohort (`cohort.ts`): who waits, what is under way, and how long that takes. */

/** What is expected before the first answer. */
const TOOK_AT_FIRST_MS = 1;
/** Of how long answers take, so much is what the last one took. */
const NEWS_SHARE = 1 / 8;

/** An entry that is under way. */
interface Left {
  readonly atMs: number;
  /** Commands of it that are not answered. */
  count: number;
}

export class Seat {
  /** Asks for a turn of the group's replica: this one, if it has not been in it yet. */
  readonly requestTurn: () => void;
  /** Commands that are not in an entry yet, and since when the first of them waits. */
  waiting = 0;
  sinceMs = 0;
  /** Commands that have left and are not answered. */
  underWay = 0;
  /** It may leave, whoever comes. */
  isReleased = false;
  /** Its oldest entry is under way, or its last answer took, longer than others wait. */
  isSlow = false;
  #tookMs = TOOK_AT_FIRST_MS;
  /** The oldest first. */
  readonly #left: Left[] = [];

  constructor(requestTurn: () => void) {
    this.requestTurn = requestTurn;
  }

  /** From when an entry leaves to its answer, lately. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** How long the oldest entry under way has been so. */
  underWayMs(nowMs: number): number {
    return this.#left.length === 0 ? 0 : nowMs - this.#left[0]!.atMs;
  }

  /** An entry of `count` commands leaves. */
  leave(count: number, nowMs: number): void {
    this.#left.push({ atMs: nowMs, count });
  }

  /** Nobody of the group is heard of any more. */
  clear(): void {
    this.waiting = 0;
    this.underWay = 0;
    this.#left.length = 0;
  }

  /** The next `count` commands are answered, in the order they left. */
  answer(count: number, nowMs: number): void {
    this.#tookMs += (this.underWayMs(nowMs) - this.#tookMs) * NEWS_SHARE;
    let answered = count;
    for (let first = this.#left[0]; first && answered > 0; first = this.#left[0]) {
      const taken = Math.min(answered, first.count);
      first.count -= taken;
      answered -= taken;
      if (first.count === 0) this.#left.shift();
    }
  }
}
