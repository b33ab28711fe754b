/** Whether an operator wants this placedriver not to be master. */
import { KvorumError } from '../common/errors.ts';
import type { NodeId } from '../common/ids.ts';
import { keys } from '../meta/schema.ts';
import type { MetaStore, Watch } from '../meta/store.ts';

export class BanWatch {
  readonly #key: string;
  #watch: Watch | undefined;
  /** Undefined until the store has said. */
  #banned: boolean | undefined;
  #begun = new AbortController();
  #waiting: (() => void)[] = [];

  constructor(name: NodeId) {
    this.#key = keys.ban(name);
  }

  start(store: MetaStore): void {
    this.#watch = store.watch(this.#key, {
      onList: (items) => this.#set(items.some(({ key }) => key === this.#key)),
      onEvents: (events) => {
        for (const event of events) {
          const key = event.type === 'put' ? event.item.key : event.key;
          if (key === this.#key) this.#set(event.type === 'put');
        }
      },
    });
  }

  close(): void {
    this.#watch?.close();
  }

  /** As far as is known. */
  get isBanned(): boolean {
    return this.#banned === true;
  }

  /** Aborts when the ban that comes next begins. */
  get begun(): AbortSignal {
    return this.#begun.signal;
  }

  /** Resolves while there is no ban, as far as is known; rejects when `signal` aborts. */
  async lifted(signal: AbortSignal): Promise<void> {
    while (this.#banned !== false) {
      await new Promise<void>((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const onAbort = () => reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        this.#waiting.push(() => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        });
      });
    }
  }

  #set(banned: boolean): void {
    if (banned === this.#banned) return;
    this.#banned = banned;
    if (banned) {
      this.#begun.abort(new KvorumError('CANCELLED', 'this placedriver is banned from mastership'));
    } else {
      this.#begun = new AbortController();
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }
}
