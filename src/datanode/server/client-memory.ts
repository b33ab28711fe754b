/**
 * What the requests of all clients of a node hold in memory (those that have not come as a whole,
 * those that wait, and what transactions queue), and in another of these what replies do that were not
 * taken. Each client has bounds of its own, but ten thousand clients have them together. Half way to
 * the bound clients may have fewer requests under way; at the bound whoever holds most is let go, as
 * Redis does with `maxmemory-clients`.
 */

/** Who holds less is not counted: few do more, and those who do not are to cost nothing. */
export const HELD_BYTES_MIN = 16_384;

export interface Holder {
  /** It has the node hold the most; it is to give it all back. */
  letGo(heldBytes: number): void;
}

export class ClientMemory {
  readonly #max: number;
  readonly #held = new Map<Holder, number>();
  #total = 0;

  constructor(bytesMax: number) {
    this.#max = bytesMax;
  }

  /** Little is left: nobody is to begin much. */
  get isTight(): boolean {
    return this.#total > this.#max / 2;
  }

  get bytes(): number {
    return this.#total;
  }

  /** `holder` has the node hold so many bytes by now; 0 once it has gone. */
  note(holder: Holder, bytes: number): void {
    const before = this.#held.get(holder) ?? 0;
    const now = bytes < HELD_BYTES_MIN ? 0 : bytes;
    if (now === before) return;
    this.#total += now - before;
    if (now === 0) this.#held.delete(holder);
    else this.#held.set(holder, now);
    while (this.#total > this.#max) this.#letGoLargest();
  }

  #letGoLargest(): void {
    let [largest, most] = [undefined as Holder | undefined, 0];
    for (const [holder, bytes] of this.#held) if (bytes > most) [largest, most] = [holder, bytes];
    if (largest === undefined) return;
    this.note(largest, 0);
    largest.letGo(most);
  }
}
