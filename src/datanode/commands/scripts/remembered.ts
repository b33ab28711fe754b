/** What was compiled lately, by its SHA-1, as long as the texts of all of it are not too long. */

interface Item<Compiled> {
  readonly compiled: Compiled;
  readonly bytes: number;
}

/** What one takes at least. */
const BYTES_MIN = 1_024;

export class Remembered<Compiled> {
  readonly #bytesMax: number;
  /** The one that was asked for longest ago comes first. */
  readonly #items = new Map<string, Item<Compiled>>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get count(): number {
    return this.#items.size;
  }

  /** Of the texts. */
  get bytes(): number {
    return this.#bytes;
  }

  get(sha: string): Compiled | undefined {
    const found = this.#items.get(sha);
    if (found === undefined) return undefined;
    this.#items.delete(sha);
    this.#items.set(sha, found);
    return found.compiled;
  }

  /** It is not there yet. */
  add(sha: string, compiled: Compiled, textBytes: number): void {
    const added = Math.max(textBytes, BYTES_MIN);
    this.#items.set(sha, { compiled, bytes: added });
    this.#bytes += added;
    for (const [oldest, { bytes }] of this.#items) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#items.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
