/** A connection to a node for a backup: one request after the other, and no reply is waited for without end. */
import { systemClock } from '../../common/clock.ts';
import { KvorumError } from '../../common/errors.ts';
import type { Address } from '../../common/network.ts';
import type { Argument, Connection, Outcome, Reply } from '../../sdk/connection.ts';
import { ioredisConnector } from '../../sdk/ioredis-connection.ts';
import type { TlsOptions } from '../../sdk/tls-options.ts';

export interface Login {
  readonly username?: string;
  readonly password?: string;
  /** How TLS is spoken; undefined: not at all. */
  readonly how?: TlsOptions | undefined;
}

const CONNECT_MS = 5_000;
/** More than a node takes for a page of another. */
const REPLY_MS = 45_000;

/** An answer that says no; `text` begins with its code. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

export class Gateway {
  readonly #connection: Connection;

  constructor(address: Address, namespace: string, { username, password, how }: Login) {
    const settings = {
      ...{ address, namespace, username, password, readOnly: false },
      connectTimeoutMs: CONNECT_MS,
      tls: how,
    };
    const events = { ready: () => {}, closed: () => {} };
    this.#connection = ioredisConnector(systemClock).open(settings, events);
  }

  /** Rejects with RefusedError for an error reply, and CONNECTION_LOST when there is none. */
  ask(...line: readonly Argument[]): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new KvorumError('CONNECTION_LOST', `no reply within ${REPLY_MS / 1_000} s`));
        this.close();
      }, REPLY_MS);
      this.#connection.send(line, (outcome) => {
        clearTimeout(timer);
        if (outcome.kind === 'reply') resolve(outcome.reply);
        else reject(failureOf(outcome));
      });
    });
  }

  close(): void {
    this.#connection.close();
  }
}

function failureOf(outcome: Exclude<Outcome, { kind: 'reply' }>): Error {
  if (outcome.kind === 'error') return new RefusedError(outcome.text);
  return new KvorumError('CONNECTION_LOST', outcome.cause.message, { cause: outcome.cause });
}
