/** What the function given to `client.watch()` is given: reads, and the transaction it may return. */
import { addCommandMethods } from './command-methods.ts';
import type { ReadName } from './commands/read-names.ts';
import { WatchedTransaction } from './pipeline.ts';
import type { Value } from './replies.ts';
import type { Commands } from './typed-commands.ts';

/** Every command that only reads, and its variant with bytes. */
export type ReadCommands = Pick<Commands, ReadName | `${ReadName}Buffer`>;

/** Sends a read of the watch. */
export type WatchedRead = (
  name: string,
  given: readonly unknown[],
  bytes: boolean,
) => Promise<Value>;

const Reads = Object as unknown as abstract new () => ReadCommands;

/** Made by `client.watch()` for each attempt. */
export class Watched extends Reads {
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** Aborted when the watch has ended: nothing this attempt does counts any more. */
  readonly signal: AbortSignal;
  readonly #read: WatchedRead;

  /** Made by `client.watch()`. */
  constructor(attempt: number, signal: AbortSignal, read: WatchedRead) {
    super();
    this.attempt = attempt;
    this.signal = signal;
    this.#read = read;
  }

  /**
   * Any command that only reads, linearizable whatever the client's `consistency` says. Rejects with
   * `BAD_ARGUMENT` for others: what is to be written is queued in `multi()`.
   */
  call(name: string, ...args: readonly unknown[]): Promise<Value> {
    return this.#read(name, args, false);
  }

  /** As `call`, with bytes in place of texts. */
  callBuffer(name: string, ...args: readonly unknown[]): Promise<Value> {
    return this.#read(name, args, true);
  }

  /** A transaction to fill and return: it takes effect only if no watched key has changed. */
  multi(): WatchedTransaction {
    return new WatchedTransaction();
  }

  static {
    addCommandMethods(Watched.prototype, (watched, ...of) => watched.#read(...of));
  }
}
