/**
 * Sessions: under one a group runs a write once however often it is sent. A session has an id and
 * numbers its writes; each group learns of it by an open, before the first write there is sent.
 *
 * A write stays bound to the session and number it was first sent under. When a group has forgotten
 * a session, it is never opened there again: whatever was sent under it and has no answer may have
 * run. A new session is begun instead.
 */

import type { PartitionId } from '../common/ids.ts';
import { limits } from '../common/limits.ts';
import type { Random } from '../common/random.ts';
import type { Argument } from './connection.ts';

/** A write's place in a session. */
export interface Ticket {
  readonly session: Session;
  readonly sequence: number;
}

interface Opening {
  readonly waiting: (() => void)[];
}

/** Of one id. */
export class Session {
  readonly id: string;
  #next = 1;
  /** Numbers without an answer; they were added in their order. */
  readonly #unanswered = new Set<number>();
  /** By partition: opened with this key, or being opened. */
  readonly open = new Map<PartitionId, Argument>();
  readonly opening = new Map<PartitionId, Opening>();

  constructor(id: string) {
    this.id = id;
  }

  take(): Ticket {
    const sequence = this.#next++;
    this.#unanswered.add(sequence);
    return { session: this, sequence };
  }

  /** No more is sent under the number. */
  release(sequence: number): void {
    this.#unanswered.delete(sequence);
  }

  /** The lowest number without an answer: replies below it need not be kept. */
  get low(): number {
    const [lowest] = this.#unanswered;
    return lowest ?? this.#next;
  }
}

/** Sends an open; calls back with whether the group knows the session now. */
export type OpenSession = (
  session: Session,
  partition: PartitionId,
  key: Argument,
  done: (result: 'opened' | 'unsupported' | 'failed') => void,
) => void;

export class Sessions {
  readonly #random: Random;
  readonly #send: OpenSession;
  #current: Session;
  /** The servers do not know the command: writes are sent without. */
  #unsupported = false;

  constructor(random: Random, send: OpenSession) {
    this.#random = random;
    this.#send = send;
    this.#current = this.#newSession();
  }

  get supported(): boolean {
    return !this.#unsupported;
  }

  get current(): Session {
    return this.#current;
  }

  isOpen(partition: PartitionId): boolean {
    return this.#current.open.has(partition);
  }

  /** Opens the present session for a partition; `done` when that has ended, either way. */
  open(partition: PartitionId, key: Argument, done: () => void): void {
    const session = this.#current;
    const under = session.opening.get(partition);
    if (under !== undefined) {
      under.waiting.push(done);
      return;
    }
    const opening: Opening = { waiting: [done] };
    session.opening.set(partition, opening);
    this.#send(session, partition, key, (result) => {
      session.opening.delete(partition);
      if (result === 'opened') session.open.set(partition, key);
      if (result === 'unsupported') this.#unsupported = true;
      for (const waiting of opening.waiting) waiting();
    });
  }

  /** A group does not know the session: it is used no more. */
  lost(session: Session): void {
    if (session === this.#current) this.#current = this.#newSession();
  }

  #newSession(): Session {
    return new Session(this.#random.hex(limits.sessionIdBytes));
  }
}

/** The line that runs `line` under a ticket. */
export function onceLine({ session, sequence }: Ticket, line: readonly Argument[]): Argument[] {
  return ['KV.ONCE', session.id, sequence, session.low, ...line];
}

export function openLine({ id }: Session, key: Argument): Argument[] {
  return ['KV.SESSION', 'OPEN', id, key];
}

export function closeLine({ id }: Session, key: Argument): Argument[] {
  return ['KV.SESSION', 'CLOSE', id, key];
}
