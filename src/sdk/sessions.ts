/**
 * Sessions: under one a group runs a write once however often it is sent. Each partition has one of
 * its own, with an id and numbers for its writes, so that a partition that answers late keeps no
 * other from dropping its replies; its group learns of it by an open, before the first write is sent.
 *
 * A write stays bound to the session and number it was first sent under. When a group has forgotten
 * a session, it is never opened there again: whatever was sent under it and has no answer may have
 * run. A new session is begun instead.
 */
import type { PartitionId } from '../common/ids.ts';
import { limits } from '../common/limits.ts';
import type { Random } from '../common/random.ts';
import type { Argument } from './connection.ts';
import { type ClientError, ownError, ReplyError } from './errors.ts';

/** A write's place in a session. */
export interface Ticket {
  readonly session: Session;
  readonly sequence: number;
}

/** What comes of an open; undefined: writes may go on, under a session or without. */
export type Opened = (failure: ClientError | undefined) => void;

/** Of one id and group. */
class Session {
  readonly id: string;
  #next = 1;
  /** Numbers without an answer; they were added in their order. */
  readonly #unanswered = new Set<number>();
  readonly partition: PartitionId;
  /** The key it was opened with; undefined: the group does not know it yet. */
  openedWith: Argument | undefined;
  /** Who waits for its open. */
  opening: Opened[] | undefined;

  constructor(id: string, partition: PartitionId) {
    this.id = id;
    this.partition = partition;
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

/** Sends an open; calls back with whether the group knows the session now, or why it does not. */
export type OpenSession = (
  session: Session,
  key: Argument,
  done: (result: 'opened' | 'unsupported' | ClientError) => void,
) => void;

export class Sessions {
  readonly #random: Random;
  readonly #send: OpenSession;
  readonly #current = new Map<PartitionId, Session>();
  /** The servers do not know the command: writes are sent without. */
  #unsupported = false;

  constructor(random: Random, send: OpenSession) {
    this.#random = random;
    this.#send = send;
  }

  get supported(): boolean {
    return !this.#unsupported;
  }

  /** Those that groups know. */
  get open(): readonly Session[] {
    return [...this.#current.values()].filter(({ openedWith }) => openedWith !== undefined);
  }

  /** A ticket of the partition's session; undefined while that is not open. */
  take(partition: PartitionId): Ticket | undefined {
    const session = this.#current.get(partition);
    return session?.openedWith === undefined ? undefined : session.take();
  }

  isOpen(partition: PartitionId): boolean {
    return this.#current.get(partition)?.openedWith !== undefined;
  }

  /** Opens the present session of a partition; `done` when that has ended, either way. */
  begin(partition: PartitionId, key: Argument, done: Opened): void {
    const session = this.#session(partition);
    if (session.opening !== undefined) {
      session.opening.push(done);
      return;
    }
    const waiting = [done];
    session.opening = waiting;
    this.#send(session, key, (result) => {
      session.opening = undefined;
      if (result === 'opened') session.openedWith = key;
      if (result === 'unsupported') this.#unsupported = true;
      const failure = typeof result === 'string' ? undefined : result;
      for (const one of waiting) one(failure);
    });
  }

  /** Its group does not know it: it is used no more. */
  lost(session: Session): void {
    const { partition } = session;
    if (this.#current.get(partition) === session) this.#current.delete(partition);
  }

  #session(partition: PartitionId): Session {
    let session = this.#current.get(partition);
    if (session === undefined) {
      session = new Session(this.#random.hex(limits.sessionIdBytes), partition);
      this.#current.set(partition, session);
    }
    return session;
  }
}

/** The line that runs `line` under a ticket. */
export function onceLine({ session, sequence }: Ticket, line: readonly Argument[]): Argument[] {
  return ['KV.ONCE', session.id, sequence, session.low, ...line];
}

/** `lines` with the last one under a ticket, if there is one. */
export function linesUnder(
  ticket: Ticket | undefined,
  lines: readonly (readonly Argument[])[],
): readonly (readonly Argument[])[] {
  if (ticket === undefined) return lines;
  return lines.map((line, at) => (at === lines.length - 1 ? onceLine(ticket, line) : line));
}

export function openLine({ id }: Session, key: Argument): Argument[] {
  return ['KV.SESSION', 'OPEN', id, key];
}

export function closeLine({ id }: Session, key: Argument): Argument[] {
  return ['KV.SESSION', 'CLOSE', id, key];
}

/** What a write is rejected with whose session could not be opened: it was not sent. */
export function sessionError(
  name: string,
  partition: PartitionId | undefined,
  cause: ClientError,
): ClientError {
  if (cause instanceof ReplyError) {
    const hint = cause.code === 'NOPERM' ? '; sessions: false writes without one' : '';
    const text = `${cause.message} (KV.SESSION, which opens a session for ${name}${hint})`;
    return new ReplyError(text, { partition, cause });
  }
  if (cause.code === 'REFUSED') {
    return ownError('REFUSED', `${name}: ${cause.message}`, { partition, cause: cause.cause });
  }
  const text = `${name}: no session could be opened in its partition: ${cause.message}`;
  return ownError('UNAVAILABLE', text, { partition, cause });
}
