/**
 * Room for answers to one peer: what it has not taken of them. Reads are small to ask for and may be
 * large to answer, so those that were asked for say nothing of what is to come.
 */
import { limits } from '../../common/limits.ts';
import type { Room } from '../../common/room.ts';
import type { Link } from './link.ts';

/** Large answers that are made at the same time, which end at the same time. */
const MAKING_MAX = 2;

export class AnswerRoom implements Room {
  readonly #link: Pick<Link, 'outputBytes' | 'closed' | 'requestFlush'>;
  /** In order. */
  #waiting: (() => void)[] = [];
  #making = 0;

  constructor(link: Pick<Link, 'outputBytes' | 'closed' | 'requestFlush'>) {
    this.#link = link;
  }

  get isFull(): boolean {
    return this.#link.outputBytes > limits.peerAnswersPauseBytes;
  }

  get mayBeginLarge(): boolean {
    return this.#making < MAKING_MAX && !this.isFull;
  }

  get isGone(): boolean {
    return this.#link.closed;
  }

  begin(): void {
    this.#making++;
  }

  end(): void {
    this.#making--;
    if (this.#waiting.length > 0) this.#link.requestFlush();
  }

  onceFree(run: () => void): void {
    this.#waiting.push(run);
    this.#link.requestFlush();
  }

  /** Lets one go on, whose answer is seen before the next does; all, when the peer has gone. */
  look(): void {
    if (this.#waiting.length === 0) return;
    if (this.isGone) {
      for (const run of this.#waiting.splice(0)) run();
    } else if (this.mayBeginLarge) {
      this.#waiting.shift()!();
      this.#link.requestFlush();
    }
  }
}
