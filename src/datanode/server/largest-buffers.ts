/**
 * The largest buffers of any client, looked for by turns: to look at ten thousand clients in one turn
 * holds up all of them. Few clients are all looked at each time.
 */
import type { ClientBuffers } from '../commands/rows/node-context.ts';
import type { ClientConnection } from './connection-world.ts';

/** Clients looked at in one turn, if there are so many. */
const LOOKED_MIN = 256;

export class LargestBuffers {
  readonly #connections: ReadonlySet<ClientConnection>;
  readonly #share: number;
  /** Those that this round has not looked at. */
  #left: SetIterator<ClientConnection>;

  /** `share`: of all connections, that one look is at: 1 / `share` looks are at all of them. */
  constructor(connections: ReadonlySet<ClientConnection>, share: number) {
    this.#connections = connections;
    this.#share = share;
    this.#left = connections.values();
  }

  /** The largest of those whose turn it is. */
  look(): ClientBuffers {
    let [inputBytes, outputBytes] = [0, 0];
    const { size } = this.#connections;
    const count = Math.min(size, Math.max(LOOKED_MIN, Math.ceil(size * this.#share)));
    for (let looked = 0; looked < count; looked++) {
      const connection = this.#next();
      if (connection === undefined) break;
      const { requestBytes, replyBytes } = connection.session.queued();
      inputBytes = Math.max(inputBytes, requestBytes);
      outputBytes = Math.max(outputBytes, replyBytes);
    }
    return { inputBytes, outputBytes };
  }

  /** A round begins where the last one ended. */
  #next(): ClientConnection | undefined {
    const next = this.#left.next();
    if (next.done !== true) return next.value;
    this.#left = this.#connections.values();
    return this.#left.next().value;
  }
}
