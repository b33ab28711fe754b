/**
 * Which connections accept MULTI. What follows a MULTI that is refused, as to a user without the
 * right, runs at once and line by line; so none is sent behind one before a transaction of nothing
 * was accepted there. That takes no right that a transaction does not take.
 */
import type { Connection } from './connection.ts';
import { type Answered, sendLines } from './lines.ts';

export class MultiProofs {
  readonly #proven = new WeakSet<Connection>();

  has(connection: Connection): boolean {
    return this.#proven.has(connection);
  }

  /** `heard`: a reply without an error before it is the proof. */
  ask(connection: Connection, heard: (answered: Answered) => void): void {
    sendLines(connection, [['MULTI'], ['EXEC']], (answered) => {
      const isProof = answered.last.kind === 'reply' && answered.firstError === undefined;
      if (isProof) this.#proven.add(connection);
      else this.#proven.delete(connection);
      heard(answered);
    });
  }
}
