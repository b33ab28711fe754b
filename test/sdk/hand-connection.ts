/** A connection without a socket. */
import type { Address } from '../../src/common/network.ts';
import type { Connection, ConnectionEvents, Outcome } from '../../src/sdk/connection.ts';

/** It answers when the test says so. */
export class HandConnection implements Connection {
  readonly lines: string[] = [];
  /** As the test sets it. */
  owesSinceMs: number | undefined;
  readonly address: Address;
  readonly events: ConnectionEvents;
  #waiting: ((outcome: Outcome) => void)[] = [];
  isClosed = false;

  constructor(address: Address, events: ConnectionEvents) {
    this.address = address;
    this.events = events;
  }

  get pending(): number {
    return this.#waiting.length;
  }

  send(line: readonly unknown[], done: (outcome: Outcome) => void): void {
    this.lines.push(line.join(' '));
    this.#waiting.push(done);
  }

  answer(): void {
    for (const done of this.#waiting.splice(0)) done({ kind: 'reply', reply: null });
  }

  /** The oldest that waits is answered; `error`: so. */
  answerFirst(error?: string): void {
    const done = this.#waiting.shift();
    done?.(error === undefined ? { kind: 'reply', reply: null } : { kind: 'error', text: error });
  }

  /** What was sent is told to be lost; a connection may tell its end first. */
  lose(): void {
    for (const done of this.#waiting.splice(0)) done({ kind: 'lost', cause: new Error('lost') });
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.events.closed(undefined, false);
    this.lose();
  }
}
