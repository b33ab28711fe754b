/** Tells who waits for a cluster that does not let its client in yet: it may be the wrong address. */
import type { EventEmitter } from 'node:events';
import { messageOf } from '../../common/errors.ts';

/** One that runs has answered by then. */
const FIRST_MS = 3_000;
const AGAIN_MS = 30_000;

/** From its making until `end` it says what `client` met last. */
export class Waiting {
  readonly #client: EventEmitter;
  readonly #say: (line: string) => void;
  #timer: NodeJS.Timeout;
  #last = 'nothing answers';

  constructor(client: EventEmitter, say: (line: string) => void) {
    this.#client = client;
    this.#say = say;
    client.on('error', this.#hear);
    this.#timer = setTimeout(this.#tell, FIRST_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#client.off('error', this.#hear);
  }

  readonly #hear = (failure: Error) => {
    this.#last = messageOf(failure);
  };

  readonly #tell = () => {
    this.#say(`waiting for the cluster: ${this.#last}`);
    this.#timer = setTimeout(this.#tell, AGAIN_MS);
  };
}
