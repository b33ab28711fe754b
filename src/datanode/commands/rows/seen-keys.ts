/** Keys that a command has worked on already: named again, they change nothing of what it comes to. */

/** Beyond, keys that are named again are worked on again. */
const KEYS_MAX = 1_024;

export class SeenKeys {
  readonly #keys = new Set<string>();

  /** True the first time; later as well for keys behind the first thousand different ones. */
  isNew(key: Buffer): boolean {
    const name = key.toString('latin1');
    if (this.#keys.has(name)) return false;
    if (this.#keys.size < KEYS_MAX) this.#keys.add(name);
    return true;
  }
}
