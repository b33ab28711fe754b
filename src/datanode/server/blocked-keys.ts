/** For how many keys the clients of a node wait; those that several wait for count once. */
import { createHash } from 'node:crypto';
import type { GroupId } from '../../common/ids.ts';
import { limits } from '../../common/limits.ts';

/** A longer key is known by its hash: it is not to be in memory once more. */
const NAME_BYTES_MAX = 64;

export class BlockedKeys {
  readonly #waits = new Map<string, number>();
  /** Of requests with so many that to look at each would hold up others: these may count twice. */
  #ofMany = 0;

  get size(): number {
    return this.#waits.size + this.#ofMany;
  }

  /** A client waits for them; what is returned says that it does no longer. */
  add(group: GroupId, keys: readonly Buffer[]): () => void {
    if (keys.length > limits.argumentsAtOnceMax) {
      this.#ofMany += keys.length;
      return () => {
        this.#ofMany -= keys.length;
      };
    }
    const names = keys.map((key) => `${group} ${nameOf(key)}`);
    for (const name of names) this.#waits.set(name, (this.#waits.get(name) ?? 0) + 1);
    return () => {
      for (const name of names) this.#end(name);
    };
  }

  #end(name: string): void {
    const left = this.#waits.get(name)! - 1;
    if (left > 0) this.#waits.set(name, left);
    else this.#waits.delete(name);
  }
}

function nameOf(key: Buffer): string {
  if (key.length <= NAME_BYTES_MAX) return key.toString('latin1');
  return createHash('sha256').update(key).digest('base64');
}
