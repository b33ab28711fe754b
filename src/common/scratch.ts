/**
 * Memory for what leaves at once. Output whose memory is made anew for every write is garbage a moment
 * later, and V8 lets tens of megabytes of it pile up before it looks: buffers weigh little on its heap.
 */
export class Scratch {
  readonly #bytes: number;
  #memory: Buffer | undefined;

  /** `bytes`: how much is lent. */
  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** For one at a time; who comes while it is lent, or was never given back, gets memory of its own. */
  borrow(): Buffer {
    const memory = this.#memory ?? Buffer.allocUnsafeSlow(this.#bytes);
    this.#memory = undefined;
    return memory;
  }

  /** Nobody looks at `memory` any more. */
  giveBack(memory: Buffer): void {
    this.#memory = memory;
  }
}
