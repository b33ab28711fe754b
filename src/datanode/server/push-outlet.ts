/**
 * What a subscriber is sent beside its replies. A message comes behind the replies that were given
 * before it; one that the client's own command causes comes behind that command's reply (as since
 * Redis 7.2). Who does not read is disconnected by Redis's limits for pubsub clients.
 */
import type { Clock } from '../../common/clock.ts';
import { limits } from '../../common/limits.ts';
import type { NodeCommand } from '../commands/rows/command.ts';
import type { Session } from '../commands/rows/node-context.ts';
import type { Output } from './output.ts';

export interface PushWorld {
  readonly clock: Clock;
  onSlowSubscriber(): void;
}

const PUSHES_REPLY = /^[ps]?(?:un)?subscribe$/;

/** Its reply is pushes: they come whatever CLIENT REPLY says, and before any message. */
export function pushesReply({ name }: NodeCommand): boolean {
  return PUSHES_REPLY.test(name);
}

/**
 * Whether nothing is answered, now that it has run. What turns replies on again is: CLIENT REPLY, and
 * RESET. `isSkipped`: the client asked for no reply to this one command.
 */
export function silences(command: NodeCommand, session: Session, isSkipped: boolean): boolean {
  if (pushesReply(command)) return false;
  return session.replyMode !== 'on' || (isSkipped && command.name !== 'client|reply');
}

export class PushOutlet {
  readonly #output: Pick<Output, 'push' | 'disconnect' | 'waitingBytes'>;
  readonly #world: PushWorld;
  readonly #askFlush: () => void;
  #held: Buffer[] | undefined;
  #heldBytes = 0;
  #softSinceMs: number | undefined;
  #ended = false;

  constructor(
    output: Pick<Output, 'push' | 'disconnect' | 'waitingBytes'>,
    world: PushWorld,
    askFlush: () => void,
  ) {
    this.#output = output;
    this.#world = world;
    this.#askFlush = askFlush;
  }

  /** What comes from now on waits for `release`. */
  hold(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held;
    this.#held = undefined;
    this.#heldBytes = 0;
    if (held === undefined || held.length === 0 || this.#ended) return;
    for (const bytes of held) this.#output.push(bytes);
    this.#askFlush();
  }

  /** `bytes` are not changed any more: they may be on their way to others too. */
  push(bytes: Buffer): void {
    if (this.#ended) return;
    if (this.#held === undefined) {
      this.#output.push(bytes);
      this.#askFlush();
    } else {
      this.#held.push(bytes);
      this.#heldBytes += bytes.length;
    }
    const waiting = this.#output.waitingBytes + this.#heldBytes;
    if (!this.#isTooMuch(waiting)) return;
    this.#ended = true;
    this.#held = undefined;
    this.#world.onSlowSubscriber();
    this.#output.disconnect(waiting);
  }

  #isTooMuch(waiting: number): boolean {
    if (waiting <= limits.subscriberOutputSoftBytes) {
      this.#softSinceMs = undefined;
      return false;
    }
    const now = this.#world.clock.monotonicMs();
    this.#softSinceMs ??= now;
    return (
      waiting > limits.subscriberOutputBytesMax ||
      now - this.#softSinceMs > limits.subscriberOutputSoftMs
    );
  }
}
