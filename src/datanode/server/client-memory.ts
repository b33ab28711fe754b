/**
 * What the requests of all clients of a node hold in memory (those that have not come as a whole,
 * those that wait, and what transactions queue), and in another of these what replies do that were not
 * taken. Each client has bounds of its own, but ten thousand clients have them together. Half way to
 * the bound clients may have fewer requests under way; at the bound whoever holds most is let go, as
 * Redis does with `maxmemory-clients`. A message that is on its way to many subscribers is in memory
 * once, and counts once.
 */

/** Who holds less is not counted: few do more, and those who do not are to cost nothing. */
export const HELD_BYTES_MIN = 16_384;

export interface Holder {
  /** It has the node hold the most; it is to give it all back. */
  letGo(heldBytes: number): void;
}

interface Held {
  readonly own: number;
  /** Of what others may hold as well. */
  readonly shared: number;
}

export class ClientMemory {
  readonly #max: number;
  readonly #held = new Map<Holder, Held>();
  /** What several may hold, and how many do. */
  readonly #shared = new Map<Buffer, number>();
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

  /**
   * `holder` has the node hold so many bytes by now, and beside them so many of what it shares with others;
   * 0 once it has gone.
   */
  note(holder: Holder, bytes: number, shared: number = 0): void {
    this.#set(holder, bytes, shared);
    while (this.#total > this.#max && this.#held.size > 0) this.#letGoLargest();
  }

  /** One more holds these bytes, until `unshare`. */
  share(bytes: Buffer): void {
    const holders = this.#shared.get(bytes) ?? 0;
    if (holders === 0) this.#total += bytes.length;
    this.#shared.set(bytes, holders + 1);
  }

  unshare(bytes: Buffer): void {
    const holders = this.#shared.get(bytes)! - 1;
    if (holders > 0) this.#shared.set(bytes, holders);
    else {
      this.#shared.delete(bytes);
      this.#total -= bytes.length;
    }
  }

  #set(holder: Holder, bytes: number, shared: number): void {
    const before = this.#held.get(holder);
    const own = bytes + shared < HELD_BYTES_MIN ? 0 : bytes;
    if (own + shared > 0) this.#held.set(holder, { own, shared });
    else if (before !== undefined) this.#held.delete(holder);
    this.#total += own - (before?.own ?? 0);
  }

  #letGoLargest(): void {
    let [largest, most] = [undefined as Holder | undefined, -1];
    for (const [holder, { own, shared }] of this.#held) {
      if (own + shared > most) [largest, most] = [holder, own + shared];
    }
    if (largest === undefined) return;
    // what it shares it gives back as it goes: who is next is seen after that
    this.#set(largest, 0, 0);
    largest.letGo(most);
  }
}
