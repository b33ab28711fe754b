/**
 * Requests of one connection whose turn has not come: they wait, in order, for one that runs alone, for the
 * end of a pause, or for the next turn of the process.
 */
import type { CommandLine } from '../partition/entries/batch.ts';
import type { ReplySlot } from './reply-queue.ts';

export interface WaitingRequest {
  readonly args: CommandLine;
  readonly slot: ReplySlot;
}

export interface WaitingGround {
  /** Something holds up all that comes. */
  isHeldUp(): boolean;
  /** Its turn has come. It may hold up those behind it. */
  take(args: CommandLine, slot: ReplySlot): void;
}

const RESET = 'reset';

export class WaitingRequests {
  readonly #ground: WaitingGround;
  #waiting: WaitingRequest[] = [];
  #mayForget = false;

  constructor(ground: WaitingGround) {
    this.#ground = ground;
  }

  /** What waits, or runs alone, may be a RESET: who the client is behind it nobody knows. */
  get mayForget(): boolean {
    return this.#mayForget;
  }

  /** Behind all that wait. */
  add(request: WaitingRequest): void {
    this.#waiting.push(request);
  }

  /** Before all that wait. */
  putBack(request: WaitingRequest): void {
    this.#waiting.unshift(request);
  }

  /** The request waits, or runs alone. */
  noteHeldUp(args: CommandLine): void {
    if (isReset(args)) this.#mayForget = true;
  }

  /** Those whose turn has come, until one of them holds up the others. */
  release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let at = 0;
    while (at < waiting.length && !this.#ground.isHeldUp()) {
      const { args, slot } = waiting[at++]!;
      this.#ground.take(args, slot);
    }
    if (at < waiting.length) this.#waiting = [...waiting.slice(at), ...this.#waiting];
    if (!this.#ground.isHeldUp()) this.#mayForget = false;
  }

  /** The client has gone. */
  forgetAll(): void {
    this.#waiting = [];
  }
}

function isReset([name]: CommandLine): boolean {
  return name!.length === RESET.length && name!.toString('latin1').toLowerCase() === RESET;
}
